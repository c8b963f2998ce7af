import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/algorithms/oracle.suite.ts'
import { KeyedHash } from '../../../src/core/hash.ts'
import { compileLimit, type LimitOptions } from '../../../src/core/limit.ts'
import { dumpPartition, loadPartition, newPartition } from './partition-dump.ts'

const LIMITS: readonly LimitOptions[] = [
  { limit: 10, window: '1h' },
  { limit: 10, window: '1h', subWindows: 6 },
  { limit: 10, window: '1h', algorithm: 'fixed_window' },
  { limit: 10, window: '1h', algorithm: 'sliding_log' },
  { limit: 10, window: '1h', algorithm: 'token_bucket', burst: 20 },
  { limit: 10, window: '1h', algorithm: 'gcra' },
  { limit: 10, window: '1h', algorithm: 'leaky_bucket' },
  { limit: 10, algorithm: 'concurrency', leaseTtl: '1h' },
]
const options = { hash: new KeyedHash(1, 2), maxKeys: 20_000 }

describe('a partition that another node goes on with', () => {
  it.each(LIMITS)('answers as the first one does, whatever comes: %o', (given) => {
    const limit = compileLimit(given)
    const random = seededRandom(1)
    const first = newPartition(options)
    const groupOf = () => [
      { key: `k${Math.floor(random() * 40)}`, limit, cost: 1 + Math.floor(random() * 3), enforce: true },
    ]
    for (let i = 0; i < 300; i++) first.acquire(groupOf())
    const second = loadPartition(dumpPartition(first, Date.now()), options)
    expect(second.stats.keys).toBe(first.stats.keys)
    for (let i = 0; i < 300; i++) {
      const group = groupOf()
      const [a, b] = [first.acquire(group).verdicts[0], second.acquire(group).verdicts[0]]
      expect([b.allowed, b.remaining]).toEqual([a.allowed, a.remaining])
    }
  })

  it('has thousands of counters, and none of those that expired', () => {
    const limit = compileLimit({ limit: 2, window: '1h' })
    const log = compileLimit({ limit: 3, window: '1h', algorithm: 'sliding_log' })
    const first = newPartition(options)
    for (let i = 0; i < 8_000; i++)
      first.decide([{ key: `k${i}`, limit: i % 2 === 0 ? limit : log, cost: 2, enforce: true }])
    const second = loadPartition(dumpPartition(first, Date.now()), options)
    for (let i = 0; i < 8_000; i++) {
      const one = { key: `k${i}`, limit: i % 2 === 0 ? limit : log, cost: 2, enforce: true }
      expect(second.decide([one])[0].allowed).toBe(false)
    }
    expect(loadPartition(dumpPartition(first, Date.now() + 3 * 3_600_000), options).stats.keys).toBe(0)
  })

  it('keeps which permits are held, and numbers new ones otherwise', () => {
    const places = compileLimit({ limit: 2, algorithm: 'concurrency', leaseTtl: '1h' })
    const one = [{ key: 'k', limit: places, cost: 1, enforce: true }]
    const first = newPartition(options)
    const held = [first.acquire(one).permits, first.acquire(one).permits].filter((permits) => permits !== undefined)
    const second = loadPartition(dumpPartition(first, Date.now()), options)
    expect(second.acquire(one).permits).toBeUndefined()
    second.release(held[0])
    const { permits } = second.acquire(one)
    expect(permits?.id).not.toBe(held[1].id)
    expect(second.renew(held)).toEqual(['overrun', 'held'])
  })

  it('is refused when a part of it is missing, or it is something else', () => {
    const store = newPartition(options)
    store.decide([{ key: 'k', limit: compileLimit(LIMITS[0]), cost: 1, enforce: true }])
    const bytes = dumpPartition(store, Date.now())
    for (let length = 0; length < bytes.length; length++)
      expect(() => loadPartition(bytes.subarray(0, length), options)).toThrow(RangeError)
    expect(() => loadPartition(Buffer.of(7), options)).toThrow(RangeError)
  })
})
