import { describe, expect, it } from 'vitest'
import { KeyedHash } from './hash.ts'

const KEY: readonly [number, number] = [0x03020100, 0x07060504]

/** Returns the 64 bits as text, to compare them. */
function hashOf(text: string, space = 0, [key0, key1] = KEY, domain = 0): string {
  const hash = new KeyedHash(key0, key1)
  hash.of(text, space, domain)
  return `${hash.low} ${hash.high}`
}

const TEXTS = ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'user:42', '\0', '\0\0', 'é', '\u00ff', 'x'.repeat(100_000)]

describe('keyed hash', () => {
  it('gives the same bits for the same text, space and key, whatever was hashed before', () => {
    const hash = new KeyedHash(...KEY)
    for (const text of [...TEXTS, ...TEXTS]) {
      hash.of('another', 9)
      hash.of(text, 5)
      expect(`${hash.low} ${hash.high}`).toBe(hashOf(text, 5))
    }
  })

  it('gives the same bits for a text that comes again and again, in whatever space and domain', () => {
    const hash = new KeyedHash(...KEY)
    // From one to the next, one thing changes.
    const calls = ['a', 'b', '日本'].flatMap((text): [string, number, number][] => [
      [text, 0, 0],
      [text, 5, 0],
      [text, 5, 2],
      [text, 0, 2],
      [text, 0, 0],
    ])
    for (const times of [1, 2, 4, 1]) {
      for (const [text, space, domain] of calls) {
        for (let i = 0; i < times; i++) {
          hash.of(text, space, domain)
          expect(`${hash.low} ${hash.high}`).toBe(hashOf(text, space, KEY, domain))
          // Stores point it elsewhere in between.
          if (i === 2) hash.low = 1
        }
      }
    }
  })

  it('gives 32-bit integers', () => {
    const hash = new KeyedHash(0xffffffff, -1)
    for (const text of TEXTS) {
      hash.of(text, 0xffffffff)
      expect([hash.low | 0, hash.high | 0]).toEqual([hash.low, hash.high])
    }
  })

  it('gives other bits for another text, another space, another domain, and another half of the key', () => {
    const all = TEXTS.flatMap((text) => [
      hashOf(text),
      hashOf(text, 1),
      hashOf(text, -1),
      hashOf(text, 0, [KEY[0] ^ 1, KEY[1]]),
      hashOf(text, 0, [KEY[0], KEY[1] ^ 1]),
      hashOf(text, 0, KEY, 2),
    ])
    expect(new Set(all).size).toBe(all.length)
  })

  it('distinguishes texts that differ in length alone', () => {
    const zeros = Array.from({ length: 600 }, (_, length) => hashOf('\0'.repeat(length)))
    expect(new Set(zeros).size).toBe(600)
  })

  it.each(['日本', '桳牡摥〠㄰〰', 'a\u0100', '\u0100a', '😀', '\ud83d', '\ude00', 'ключ'])(
    'never meets the narrow form of %j',
    (wide) => {
      const bytes = Buffer.from(wide, 'utf16le').toString('latin1')
      for (const text of [bytes, Buffer.from(wide, 'utf8').toString('latin1'), `${bytes}\0`]) {
        for (const space of [0, 1, -1, 0x12345678]) {
          for (const other of [space, ~space]) expect(hashOf(wide, space)).not.toBe(hashOf(text, other))
        }
      }
    },
  )

  it('distinguishes lone surrogates from each other and from the replacement character', () => {
    const texts = ['\ud800', '\ud801', '\udc00', '\ufffd', '\ud800\udc00', '\udc00\ud800', 'a\ud800', '\ud800a']
    expect(new Set(texts.map((text) => hashOf(text))).size).toBe(texts.length)
  })

  it('sees every character of a text, wide or narrow', () => {
    for (const base of ['abcdefghijk', 'абвгдежзийк']) {
      const changed = Array.from(base, (_, i) => hashOf(`${base.slice(0, i)}z${base.slice(i + 1)}`))
      expect(new Set([hashOf(base), ...changed]).size).toBe(base.length + 1)
    }
  })

  it('changes about half of the bits for one bit of the text', () => {
    const [one, two] = [new KeyedHash(...KEY), new KeyedHash(...KEY)]
    let changed = 0
    for (let i = 0; i < 10_000; i++) {
      one.of(`key:${i}:0`, 0)
      two.of(`key:${i}:1`, 0)
      changed += bitsOf(one.low ^ two.low) + bitsOf(one.high ^ two.high)
    }
    expect(changed / 10_000).toBeGreaterThan(31.5)
    expect(changed / 10_000).toBeLessThan(32.5)
  })

  it.each([
    ['the directory bits of an index', (_: number, high: number) => high >>> 22],
    ['its slot bits', (low: number) => low & 1_023],
    ['its tag bits', (low: number) => low >>> 22],
    ['the lowest bits of the high word', (_: number, high: number) => high & 1_023],
  ] as const)('spreads sequential keys evenly over %s', (_, binOf) => {
    for (const spell of [
      (i: number) => `user:${i}`,
      (i: number) => `10.0.${i >> 8}.${i & 255}`,
      (i: number) => `ключ${i}`,
    ]) {
      const hash = new KeyedHash(...KEY)
      const bins = new Uint32Array(1_024)
      for (let i = 0; i < 100_000; i++) {
        hash.of(spell(i), 0x51ed270b)
        bins[binOf(hash.low, hash.high)]++
      }
      const expected = 100_000 / 1_024
      const chiSquare = bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
      // 1,023 degrees of freedom: mean 1,023, standard deviation 45. Both bounds are six of them away.
      expect(chiSquare).toBeGreaterThan(750)
      expect(chiSquare).toBeLessThan(1_300)
    }
  })

  it('gives a million sequential keys a million different hashes', () => {
    const hash = new KeyedHash(...KEY)
    const all = new BigInt64Array(1_000_000)
    const words = new Int32Array(all.buffer)
    for (let i = 0; i < all.length; i++) {
      hash.of(`user:${i}`, 7)
      words[2 * i] = hash.low
      words[2 * i + 1] = hash.high
    }
    all.sort()
    expect(all.findIndex((value, i) => i > 0 && value === all[i - 1])).toBe(-1)
  })
})

function bitsOf(word: number): number {
  let bits = 0
  for (let rest = word >>> 0; rest !== 0; rest >>>= 1) bits += rest & 1
  return bits
}
