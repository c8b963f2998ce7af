import { describe, expect, it } from 'vitest'
import { problem } from './problem.ts'

describe('problem', () => {
  it('describes a request that could not be served', () => {
    expect(problem(404, 'Not Found', 'no such path')).toEqual({
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: 'no such path',
    })
  })

  it('carries the code of an error from the registry', () => {
    expect(problem(400, 'Bad Request', 'not JSON', 'REQUEST_INVALID')).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'not JSON',
      code: 'REQUEST_INVALID',
    })
  })
})
