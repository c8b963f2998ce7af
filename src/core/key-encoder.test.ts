import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeyedHash } from './hash.ts'
import { KeyEncoder } from './key-encoder.ts'
import type { Entry } from './request.ts'
import { compileObjects } from './rules/compile.ts'
import { match } from './rules/match.ts'
import type { Domain, Rule } from './rules/rule-set.ts'
import type { DescriptorRule } from './rules/schema.ts'

const MINUTE = { unit: 'minute', requests_per_unit: 1 } as const
const RULES: DescriptorRule[] = [
  { key: 'user', rate_limit: MINUTE, descriptors: [{ key: 'token', secret: true, rate_limit: MINUTE }] },
  { key: 'api_key', secret: true, rate_limit: MINUTE, descriptors: [{ key: 'path', rate_limits: [MINUTE, MINUTE] }] },
  { key: 'tenant', value: 'a-*', share_threshold: true, rate_limit: MINUTE },
  { key: 'tenant', value: 'b-*', rate_limit: MINUTE },
  { key: 'partner', value: 'sk_one', secret: true, rate_limit: MINUTE },
  { key: 'partner', value: 'sk_two', secret: true, rate_limit: MINUTE },
  { key: 'hidden', value: 'h*', secret: true, share_threshold: true, rate_limit: MINUTE },
]
const domain = compileObjects([{ domain: 'd', descriptors: RULES }]).domains.get('d') as Domain
const encoder = new KeyEncoder(new KeyedHash(1, 2))

/** Formats the counters of a descriptor, given as [key, value, key, value …]. */
function keysOf(...parts: string[]): string[] {
  const entries: Entry[] = []
  for (let i = 0; i < parts.length; i += 2) entries.push({ key: parts[i], value: parts[i + 1] })
  return match(domain, entries).map((rule: Rule) => encoder.encode('d', rule, entries))
}

const LONG = 'x'.repeat(201)

describe('KeyEncoder', () => {
  it.each<[claim: string, parts: string[], expected: RegExp[]]>([
    ['keeps values as they are', ['user', 'alice'], [/^d\|user\|user=alice$/]],
    ['keeps up to 200 characters', ['user', 'x'.repeat(200)], [/^d\|user\|user=x{200}$/]],
    ['writes longer values as their length and a hash', ['user', LONG], [/^d\|user\|user=201~[0-9a-f]{16}$/]],
    ['writes 1 MB in a few characters', ['user', 'x'.repeat(1_000_000)], [/^d\|user\|user=1000000~[0-9a-f]{16}$/]],
    [
      'shows four characters of a secret',
      ['api_key', 'sk_live_0123456789'],
      [/^d\|api_key\|api_key=sk_l~[0-9a-f]{16}$/],
    ],
    ['shows nothing of a short secret', ['api_key', 'sk_live_0123456'], [/^d\|api_key\|api_key=~[0-9a-f]{16}$/]],
    ['shows nothing of an empty secret', ['api_key', ''], [/^d\|api_key\|api_key=~[0-9a-f]{16}$/]],
    ['hides a secret below', ['user', 'alice', 'token', 'abc'], [/^d\|user\/token\|user=alice\|token=~[0-9a-f]{16}$/]],
    [
      'hides a secret above, in all limits',
      ['api_key', 'abc', 'path', '/'],
      [/^d\|api_key\/path\|api_key=~[0-9a-f]{16}\|path=\/$/, /^d\|api_key\/path#2\|api_key=~[0-9a-f]{16}\|path=\/$/],
    ],
    ['writes all values of a shared threshold as the pattern', ['tenant', 'a-1'], [/^d\|tenant%3da-\*\|tenant=a-\*$/]],
    ['keeps the values of any other wildcard apart', ['tenant', 'b-1'], [/\|tenant=b-1$/]],
    ['shares a secret threshold', ['hidden', 'h1'], [/^d\|hidden%3d\(secret\)\|hidden=~[0-9a-f]{16}$/]],
    ['hides a secret that a rule names', ['partner', 'sk_one'], [/^d\|partner%3d\(secret\)\|partner=~[0-9a-f]{16}$/]],
  ])('%s', (_, parts, expected) => {
    const keys = keysOf(...parts)
    expect(keys).toHaveLength(expected.length)
    keys.forEach((key, i) => {
      expect(key).toMatch(expected[i])
    })
  })

  it('never contains a secret, and keeps secrets apart', () => {
    const secret = fc.string({ unit: fc.constantFrom('a', 'b', '~', '|'), minLength: 5, maxLength: 24 })
    fc.assert(
      fc.property(secret, secret, (one, other) => {
        const [[a], [b]] = [keysOf('api_key', one), keysOf('api_key', other)]
        expect(a).not.toContain(one)
        expect(a === b).toBe(one === other)
      }),
      { numRuns: 1_000 },
    )
  })

  it('keeps the counters of rules apart whose secrets it hides', () => {
    expect(keysOf('partner', 'sk_one')).not.toEqual(keysOf('partner', 'sk_two'))
    expect(keysOf('hidden', 'h1')).toEqual(keysOf('hidden', 'h2'))
  })

  it('formats secrets under another key differently', () => {
    const others = [new KeyedHash(1, 3), new KeyedHash(2, 2)].map((hash) => new KeyEncoder(hash))
    const step = domain.root.branches.get('api_key')?.any?.path[0]
    const encoded = [encoder, ...others].map((each) => each.value('secret', step as NonNullable<typeof step>))
    expect(new Set(encoded).size).toBe(3)
  })

  it('formats different long values differently, and the same one always the same way', () => {
    const values = [LONG, `${LONG}x`, `y${LONG.slice(1)}`, `${LONG.slice(1)}y`, `${LONG.slice(1)}名`]
    expect(new Set(values.flatMap((value) => keysOf('user', value))).size).toBe(values.length)
    expect(keysOf('user', LONG)).toEqual(keysOf('user', LONG))
  })

  it('lets no caller format the hash of another', () => {
    const [hashed] = keysOf('user', LONG)
    const [forged] = keysOf('user', hashed.slice('d|user|user='.length))
    expect(forged).not.toBe(hashed)
    expect(forged).toMatch(/^d\|user\|user=20~[0-9a-f]{16}$/)
  })

  it('formats different values differently', () => {
    // Values that look like hashes, and some that are long.
    const value = fc.oneof(
      fc.string({ unit: fc.constantFrom('0', '2', 'f', '~', '=', '%'), maxLength: 22 }),
      fc
        .tuple(fc.nat(300), fc.string({ unit: fc.constantFrom('0', 'f'), minLength: 16, maxLength: 16 }))
        .map((x) => x.join('~')),
      fc.integer({ min: 198, max: 203 }).map((length) => 'z'.repeat(length)),
    )
    fc.assert(
      fc.property(value, value, (one, other) => {
        expect(keysOf('user', one)[0] === keysOf('user', other)[0]).toBe(one === other)
      }),
      { numRuns: 2_000 },
    )
  })
})
