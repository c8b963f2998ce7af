import { describe, expect, it } from 'vitest'
import { JsonScanner } from './json-scanner.ts'

function scan(path: string, text: string, size = text.length): readonly (string | number)[] {
  const scanner = new JsonScanner(path)
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length; i += size) scanner.push(bytes.subarray(i, i + size))
  scanner.end()
  return scanner.values
}

const CASES: readonly [path: string, text: string, values: readonly (string | number)[]][] = [
  ['a', '{"a": "x"}', ['x']],
  ['a', '{ "b" : [1, {"a": 2}], "a" : 3 }', [3]],
  ['a', '{"b": {"a": 1}}', []],
  ['a.b', '{"a": {"c": {"b": 1}, "b": 2.5e1}, "b": 4}', [25]],
  ['a.b', '{"a": [{"b": 1}], "x": {"b": 2}}', []],
  ['a.b', '{"a": 1, "b": 2}', []],
  ['a.b.c', '{"a":{"b":{"c":-7}},"z":{"b":{"c":8}}}', [-7]],
  ['a', '{"b": "\\"a\\": 1", "a": "\\u00e9\\n\\"q\\""}', ['é\n"q"']],
  ['email', '{"\\u0065mail": "x"}', ['x']],
  ['a', '{"a": null, "b": true}', []],
  ['a', '{"a": {"a": 1}}', []],
  ['a', '{"a": [1, 2]}', []],
  ['a', '{"a": 1, "a": "two"}', [1, 'two']],
  ['a', '{"x": "a", "y": 2}', []],
  ['a', '["a", 1]', []],
  ['a', '"a"', []],
  ['a', '{"a": ', []],
  ['a', '}}]]{"a": 5}', [5]],
  ['ü', '{"ü": "ß"}', ['ß']],
]

describe('JsonScanner', () => {
  it.each(CASES)('finds %s in %s', (path, text, values) => {
    expect(scan(path, text)).toEqual(values)
    expect(scan(path, text, 1)).toEqual(values)
  })

  it('agrees with JSON.parse about documents made at random', () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    const made = (depth: number): unknown => {
      const kind = random(depth > 3 ? 3 : 5)
      if (kind === 0) return random(1_000) / 4
      if (kind === 1) return ['a', 'b', '"', '\\', '{"a":1}', 'ä\n'][random(6)]
      if (kind === 2) return [null, true, false][random(3)]
      if (kind === 3) return Array.from({ length: random(3) }, () => made(depth + 1))
      return Object.fromEntries(['a', 'b', 'c'].slice(random(3)).map((key) => [key, made(depth + 1)]))
    }
    for (let i = 0; i < 300; i++) {
      const document = { a: made(1), b: made(1) }
      const found = (document.a as { b?: unknown } | null)?.b
      const isValue = !Array.isArray(document.a) && ['string', 'number'].includes(typeof found)
      expect(scan('a.b', JSON.stringify(document, null, random(2)), 1 + random(9))).toEqual(isValue ? [found] : [])
    }
  })

  it('remembers the first and the last of many values, and no more than four', () => {
    const text = `{${Array.from({ length: 100 }, (_, i) => `"a": ${i}`).join(',')}}`
    expect(scan('a', text)).toEqual([0, 97, 98, 99])
  })

  it('does not look at what is longer than any value', () => {
    expect(scan('a', `{"a": "${'x'.repeat(10_000)}", "b": 1}`)).toEqual([])
    expect(scan('b', `{"${'x'.repeat(10_000)}": 2, "b": 1}`)).toEqual([1])
  })
})
