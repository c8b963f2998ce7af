import fc from 'fast-check'

/** Any character of Unicode, the simple ones often. */
const character = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 0x7f }) },
  { weight: 1, arbitrary: fc.integer({ min: 0x80, max: 0xd7ff }) },
  { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
)

/** Like texts of up to so many characters. */
export function texts(maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: character.map((code) => String.fromCodePoint(code)), maxLength })
}
