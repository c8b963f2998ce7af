import { describe, expect, it } from 'vitest'
import { parseCheckRequest } from './check/check-request.ts'
import { shownName } from './shown-name.ts'

describe('shownName', () => {
  it.each([
    ['hits_addnd', '"hits_addnd"'],
    ['sk_live_0123456789', 'of 18 characters'],
    ['a'.repeat(33), 'of 33 characters'],
    ['\u001b[2J', 'of 4 characters'],
    ['', 'of 0 characters'],
  ])('formats %j', (name, shown) => {
    expect(shownName(name)).toBe(shown)
  })

  it('bounds what an error of /v1/check repeats', () => {
    const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`sk_live_${i}`, 1]))
    const body = JSON.stringify({ domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'b' }] }], ...unknown })
    expect(() => parseCheckRequest(body)).toThrow(
      'Unrecognized keys: of 9 characters, of 9 characters, of 9 characters, of 9 characters, and 996 more',
    )
  })
})
