import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plainName } from './structured-text.ts'

describe('plainName', () => {
  it.each<[name: string, plain: string]>([
    ['', ''],
    ['per-user', 'per-user'],
    [' ~', ' ~'],
    ['50%', '50%25'],
    ['a"b\\c', 'a%22b%5Cc'],
    ['caf\u00e9', 'caf%C3%A9'],
    ['\u5236\u9650', '%E5%88%B6%E9%99%90'],
    ['\u{1f6a6}', '%F0%9F%9A%A6'],
    ['\u001fa\u007f', '%1Fa%7F'],
    ['\ud800a\udfff', '%ud800a%udfff'],
    ['a'.repeat(128), 'a'.repeat(128)],
    ['\u5236'.repeat(128), '%E5%88%B6'.repeat(128)],
  ])('encodes %j as %j', (name, plain) => {
    expect(plainName(name)).toBe(plain)
  })

  it.each([
    ['a'.repeat(129), `${'a'.repeat(96)}~`],
    [`${'a'.repeat(95)}\u{1f6a6}${'b'.repeat(40)}`, `${'a'.repeat(95)}%ud83d~`],
  ])('cuts %j, with 64 bits of hash behind', (name, start) => {
    expect(plainName(name).slice(0, start.length)).toBe(start)
    expect(plainName(name).slice(start.length)).toMatch(/^[0-9a-f]{16}$/)
  })

  it('is another text for each name, however alike they are, and is read back', () => {
    const character = fc.constantFrom(
      'a',
      '%',
      '"',
      '\\',
      '?',
      '~',
      '2',
      '5',
      'é',
      '\u5236',
      '\u9650',
      '\ud800',
      '\0',
      '\u{1f6a6}',
    )
    const name = fc.string({ unit: character, maxLength: 6 })
    const anyLength = fc.tuple(fc.constantFrom(0, 120, 200), name).map(([length, end]) => `${'x'.repeat(length)}${end}`)
    fc.assert(
      fc.property(anyLength, anyLength, (a, b) => {
        expect(plainName(a)).toMatch(/^[ -~]*$/)
        expect(plainName(a)).not.toMatch(/["\\]/)
        expect(plainName(a) === plainName(b)).toBe(a === b)
        if (a.length <= 128 && !/\p{Cs}/u.test(a)) expect(decodeURIComponent(plainName(a))).toBe(a)
      }),
    )
  })
})
