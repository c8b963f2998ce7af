import { describe, expect, it } from 'vitest'
import { depthOf, readJson, readQuery } from './read-input.ts'

describe('depthOf', () => {
  it.each([
    ['1', 0],
    ['{}', 1],
    ['[{"a":[]}]', 3],
    ['[[],[],[]]', 2],
    ['"[[[["', 0],
    ['["\\"[[[[", "\\\\"]', 1],
    ['["\\\\", [[]]]', 3],
  ])('%s nests %i deep', (json, depth) => {
    expect(depthOf(json)).toBe(depth)
  })
})

describe('readJson', () => {
  it('names every place that is wrong, as far as that helps', () => {
    const schema = { kind: 'list', of: { kind: 'integer', min: 1 } } as const
    const raised = (text: string): string => {
      try {
        readJson(text, schema)
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    expect(raised('[0, 2, "a"]')).toBe(
      'ADMIN_REQUEST_INVALID: body.0: too small: expected number to be >=1; body.2: invalid input: expected number, ' +
        'received string. See /admin/v1/openapi.json for the expected form.',
    )
    expect(raised(`[${Array(500).fill('0').join(',')}]`).length).toBeLessThan(1_000)
  })
})

describe('readQuery', () => {
  const known = {
    n: { schema: { kind: 'integer', min: 0 }, doc: '' },
    t: { schema: { kind: 'text', max: 3 }, doc: '' },
  } as const

  it('reads numbers from their digits, and texts as they are', () => {
    expect(readQuery('/a?n=12&t=%C3%BC', known)).toEqual({ n: 12, t: 'ü' })
    expect(readQuery('/a', known)).toEqual({})
  })

  it.each(['n=', 'n=0x1', 'n=1.5', 'n=-1', 'n=99999999999999999999', 't=abcd', 'x=1', 't=a&t=a'])(
    'refuses %s',
    (query) => {
      expect(() => readQuery(`/a?${query}`, known)).toThrow('ADMIN_REQUEST_INVALID')
    },
  )
})
