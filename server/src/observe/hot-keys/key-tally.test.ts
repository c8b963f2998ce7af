import { describe, expect, it } from 'vitest'
import { KeyTally } from './key-tally.ts'

/** Returns numbers from 0 up to 1 that a seed decides (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A random order of keys, some of which are much more frequent than others. */
function stream(seed: number): string[] {
  const next = random(seed)
  const keys = 20 + Math.floor(next() * 2_000)
  const skew = 0.5 + next() * 4
  return Array.from({ length: 3_000 }, () => `k${Math.floor(next() ** skew * keys)}`)
}

function countsOf(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

const SEEDS = Array.from({ length: 100 }, (_, i) => i + 1)

function tallied(keys: readonly string[], size: number): KeyTally {
  const tally = new KeyTally()
  for (const key of keys) tally.add(key, size)
  return tally
}

/** Holds a tally to its word about a stream. */
function expectBound(tally: KeyTally, keys: readonly string[], size: number): void {
  const { total, missed, keys: listed } = tally.list(Number.POSITIVE_INFINITY)
  const known = new Map(listed)
  expect(total).toBe(keys.length)
  expect(missed).toBeLessThanOrEqual(keys.length / size)
  expect(tally.held).toBeLessThanOrEqual(2 * size)
  const wrong = [...countsOf(keys)].filter(([key, count]) => {
    const counted = known.get(key) ?? 0
    const isListed = known.has(key) || count <= keys.length / size
    return !isListed || counted > count || counted + missed < count
  })
  expect(wrong).toEqual([])
}

describe('KeyTally', () => {
  it('counts exactly while there is room', () => {
    expect(tallied(['a', 'b', 'a'], 8).list(8)).toEqual({
      total: 3,
      missed: 0,
      tracked: 2,
      keys: [
        ['a', 2],
        ['b', 1],
      ],
    })
  })

  it('misses no key above total/size, and no count by more', () => {
    for (const seed of SEEDS) expectBound(tallied(stream(seed), 16), stream(seed), 16)
  })

  it('keeps its word when tallies are merged, cut and merged again', () => {
    for (const seed of SEEDS) {
      const parts = [seed, seed + 1_000, seed + 2_000, seed + 3_000].map(stream)
      const merged = new KeyTally()
      for (const part of parts) {
        merged.take(tallied(part, 16))
        merged.cut(16)
      }
      expectBound(merged, parts.flat(), 16)
    }
  })

  it('says of a short list what may be missing from it', () => {
    const list = tallied(['a', 'a', 'a', 'b', 'b', 'c'], 8).list(1)
    expect(list).toEqual({ total: 6, missed: 2, tracked: 3, keys: [['a', 3]] })
  })

  it('merges lists as it merges tallies', () => {
    const merged = new KeyTally()
    merged.takeList(tallied(['a', 'b'], 8).list(8))
    merged.takeList(tallied(['b', 'c'], 8).list(8))
    expect(merged.list(1)).toEqual({ total: 4, missed: 1, tracked: 3, keys: [['b', 2]] })
  })
})
