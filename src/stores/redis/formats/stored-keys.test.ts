import { describe, expect, it } from 'vitest'
import { KeyedHash } from '../../../core/hash.ts'
import { hashSlot } from '../cluster/hash-slot.ts'
import { CompactKeys, readableKeys } from './stored-keys.ts'

const KEY = 'sluice:{17}:api|user|user=42|s1m'
const hash = new KeyedHash(17, 42)

describe('a readable key', () => {
  it('is the key as it is encoded', () => {
    expect(readableKeys('').of(KEY)).toBe(KEY)
  })
})

describe('a compact key', () => {
  const keys = new CompactKeys(hash, '', false)

  it('has 14 bytes, however long the key is', () => {
    expect(keys.of(KEY)).toMatch(/^~[\w-]{13}$/)
    expect(keys.of(`sluice:{3}:api|user|user=${'ü'.repeat(200)}|s1m`)).toMatch(/^~[\w-]{13}$/)
  })

  it('is the same in every process that has the secret, and another where that is another', () => {
    expect(new CompactKeys(new KeyedHash(17, 42), '', false).of(KEY)).toBe(keys.of(KEY))
    expect(new CompactKeys(new KeyedHash(17, 43), '', false).of(KEY)).not.toBe(keys.of(KEY))
  })

  it('is another for every caller, rule, shape and domain', () => {
    const callers = Array.from({ length: 20_000 }, (_, n) => `sluice:{17}:api|user|user=${n}|s1m`)
    const others = [KEY.replace('|user|', '|all|'), KEY.replace('s1m', 's1h'), KEY.replace('api', 'web')]
    const names = new Set([...callers, ...others].map((key) => keys.of(key)))
    expect(names.size).toBe(20_003)
  })

  it('begins with its domain', () => {
    const domainOf = (key: string) => keys.of(key).slice(0, 4)
    expect(domainOf(KEY)).toBe(domainOf('sluice:{2}:api|all|s1d'))
    expect(domainOf(KEY)).not.toBe(domainOf('sluice:{2}:web|all|s1d'))
  })

  it('stands behind the prefix', () => {
    const prefixed = new CompactKeys(hash, 'shop:', false)
    expect(prefixed.of(`shop:${KEY}`)).toBe(`shop:${keys.of(KEY)}`)
  })

  it('keeps its server on a cluster', () => {
    const tagged = new CompactKeys(hash, 'shop:', true)
    expect(tagged.of(`shop:${KEY}`)).toBe(`shop:{17}${keys.of(KEY)}`)
    expect(hashSlot(tagged.of(`shop:${KEY}`))).toBe(hashSlot(`shop:${KEY}`))
  })

  it('uses all of its 60 bits', () => {
    const names = Array.from({ length: 2_000 }, (_, n) => keys.of(`sluice:{17}:api|user|user=${n}|s1m`))
    for (let at = 4; at < 14; at++) expect(new Set(names.map((name) => name[at])).size).toBe(64)
  })

  it('has the chance to meet another that is documented', () => {
    const chanceFor = (n: number) => n ** 2 / 2 ** 61
    expect(1 / chanceFor(1e6)).toBeCloseTo(2.3e6, -5)
    expect(1 / chanceFor(1e8)).toBeCloseTo(230, -1)
    expect(64 ** 3).toBe(262_144)
  })
})
