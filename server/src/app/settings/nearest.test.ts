import { describe, expect, it } from 'vitest'
import { didYouMean, nearest } from './nearest.ts'

const NAMES = ['--rules', '--redis', '--http-port', '--grpc-port', '--admin-port', '--log-level']

describe('nearest', () => {
  it.each<[string, string | undefined]>([
    ['--rule', '--rules'],
    ['--reids', '--redis'],
    ['--http-prot', '--http-port'],
    ['--HTTP_PORT', '--http-port'],
    ['--httpport', '--http-port'],
    ['--loglevel', '--log-level'],
    ['--verbose', undefined],
    ['x', undefined],
    ['', undefined],
  ])('takes %s for %s', (name, meant) => {
    expect(nearest(name, NAMES)).toBe(meant)
  })

  it('suggests nothing where nothing is near', () => {
    expect(didYouMean('--verbose', NAMES)).toBe('')
    expect(didYouMean('--reds', NAMES)).toBe(', did you mean "--redis"?')
  })
})
