import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { counterKey } from './keys.ts'
import type { Entry } from './request.ts'

const entry = (key: string, value: string): Entry => ({ key, value })

describe('counterKey', () => {
  it.each<[string, string, string, Entry[], string]>([
    ['leaves plain parts as they are', 'api', 'user', [entry('user', 'alice')], 'api|user|user=alice'],
    [
      'joins entries in their order',
      'api',
      'user/path',
      [entry('user', 'alice'), entry('path', '/a b')],
      'api|user/path|user=alice|path=/a b',
    ],
    ['takes no entries at all', 'api', 'all', [], 'api|all'],
    ['keeps an empty value apart from a missing one', 'api', 'u', [entry('u', '')], 'api|u|u='],
    ['escapes the separators and the escape itself', 'a|b', 'c=d', [entry('%', '|=%')], 'a%7cb|c%3dd|%25=%7c%3d%25'],
    ['escapes the braces that choose a shard', 'api', 'u', [entry('u', '{1}')], 'api|u|u=%7b1%7d'],
    ['escapes control characters', 'api', 'u', [entry('u', 'a\0\r\n\t\x7fz')], 'api|u|u=a%00%0d%0a%09%7fz'],
    ['leaves whole characters of any script as they are', 'api', 'u', [entry('ü', '名😀')], 'api|u|ü=名😀'],
    ['escapes half a character', 'api', 'u', [entry('u', '\ud83d-\ude00')], 'api|u|u=%d83d-%de00'],
    ['escapes two halves in the wrong order', 'api', 'u', [entry('u', '\ude00\ud83d')], 'api|u|u=%de00%d83d'],
    [
      'escapes the half that is left next to a whole character',
      'api',
      'u',
      [entry('u', '\ud83d😀\ude00')],
      'api|u|u=%d83d😀%de00',
    ],
  ])('%s', (_, domain, rule, entries, expected) => {
    expect(counterKey(domain, rule, entries)).toBe(expected)
  })

  it.each<[string, Parameters<typeof counterKey>, Parameters<typeof counterKey>]>([
    ['a_b + c and a + b_c', ['d', 'r', [entry('a_b', 'c')]], ['d', 'r', [entry('a', 'b_c')]]],
    ['a separator inside a value', ['d', 'r', [entry('a', '1|b=2')]], ['d', 'r', [entry('a', '1'), entry('b', '2')]]],
    ['a separator inside a key', ['d', 'r', [entry('a=b', 'c')]], ['d', 'r', [entry('a', 'b=c')]]],
    ['a separator inside the domain', ['d|r', 'x', []], ['d', 'r|x', []]],
    ['text that looks escaped', ['d', 'r', [entry('a', '%7c')]], ['d', 'r', [entry('a', '|')]]],
    ['text that looks like an escaped half', ['d', 'r', [entry('a', '%d83d')]], ['d', 'r', [entry('a', '\ud83d')]]],
    ['two different halves', ['d', 'r', [entry('a', '\ud83d')]], ['d', 'r', [entry('a', '\ud83e')]]],
    [
      'the same entries in another order',
      ['d', 'r', [entry('a', '1'), entry('b', '2')]],
      ['d', 'r', [entry('b', '2'), entry('a', '1')]],
    ],
  ])('keeps apart: %s', (_, one, other) => {
    expect(counterKey(...one)).not.toBe(counterKey(...other))
  })

  // Few characters, all of them troublesome: random text would hardly ever come close to a collision.
  const part = fc.string({
    unit: fc.constantFrom('a', '|', '=', '%', '{', '}', '7', 'c', 'd', '\0', '\ud83d', '\ude00', 'd83d'),
    maxLength: 4,
  })
  const parts = fc.tuple(part, part, fc.array(fc.record({ key: part, value: part }), { maxLength: 3 }))

  it('formats different counters differently, in UTF-8 too', () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other)
        const [a, b] = [Buffer.from(counterKey(...one)), Buffer.from(counterKey(...other))]
        expect(a.equals(b)).toBe(same)
      }),
      { numRuns: 2_000 },
    )
  })

  it('can be read back, and so never formats two counters the same way', () => {
    fc.assert(
      fc.property(parts, ([domain, rule, entries]) => {
        const encoded = Buffer.from(counterKey(domain, rule, entries)).toString('utf8')
        expect(readBack(encoded)).toEqual([domain, rule, entries])
      }),
      { numRuns: 2_000 },
    )
  })

  it('never contains a raw brace or control character, and separators only where it joins', () => {
    fc.assert(
      fc.property(parts, ([domain, rule, entries]) => {
        const key = counterKey(domain, rule, entries)
        expect(key).not.toMatch(/[{}]|\p{Cc}/u)
        expect(key.split('|')).toHaveLength(2 + entries.length)
        expect(key.split('=')).toHaveLength(1 + entries.length)
      }),
    )
  })
})

/** readBack is counterKey backwards. */
function readBack(encoded: string): [domain: string, rule: string, entries: Entry[]] {
  const [domain, rule, ...entries] = encoded.split('|')
  return [
    unescapePart(domain),
    unescapePart(rule),
    entries.map((each) => {
      const [key, value] = each.split('=')
      return entry(unescapePart(key), unescapePart(value))
    }),
  ]
}

function unescapePart(part: string): string {
  return part.replace(/%(d[89a-f][0-9a-f]{2}|[0-9a-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}
