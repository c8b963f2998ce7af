import { describe, expect, it } from 'vitest'
import { mulberry32 } from '../suite/run.suite.ts'
import { Entries, NONE } from './entries.ts'
import { KeyIndex } from './key-index.ts'

/** Counts how often a hash is read: once for each slot that a split moves. */
class CountingEntries extends Entries {
  reads = 0

  override high(id: number): number {
    this.reads++
    return super.high(id)
  }
}

/** An IndexedKeys is an index with its entries, and what a Map says should be in it. */
class IndexedKeys {
  readonly entries = new CountingEntries()
  readonly index: KeyIndex
  readonly model = new Map<string, number>()

  constructor(mostEntries = 200_000) {
    this.index = new KeyIndex(this.entries, mostEntries)
  }

  add(low: number, high: number): number {
    const id = this.entries.isPacked ? this.entries.append() : this.entries.takeFreed()
    this.entries.setKey(id, low, high)
    this.index.add(id)
    this.model.set(`${low} ${high}`, id)
    return id
  }

  remove(low: number, high: number): void {
    const id = this.model.get(`${low} ${high}`) as number
    this.index.remove(id)
    this.entries.free(id)
    this.model.delete(`${low} ${high}`)
  }

  expectAllFound(): void {
    const lost = [...this.model].filter(([key, id]) => {
      const [low, high] = key.split(' ').map(Number)
      return this.index.find(low, high) !== id
    })
    expect(lost).toEqual([])
  }
}

const SLOTS = 1_024
/** The lowest ten bits of `low` choose the slot, the highest ones are kept in it as a tag. */
const hashAt = (slot: number, tag: number): number => (tag << 28) | slot

describe('key index', () => {
  it('finds what a Map finds, through 300,000 additions, removals and searches', () => {
    const random = mulberry32(7)
    const keys = new IndexedKeys()
    const known: [low: number, high: number][] = []
    const word = (): number => random(2 ** 32) | 0
    for (let i = 0; i < 300_000; i++) {
      const dice = random(10)
      if (dice < 5 || known.length === 0) {
        const [low, high] = [word(), word()]
        keys.add(low, high)
        known.push([low, high])
      } else if (dice < 7) {
        const [[low, high]] = known.splice(random(known.length), 1, known[known.length - 1])
        known.pop()
        keys.remove(low, high)
        if (keys.index.find(low, high) !== NONE) expect.fail(`found ${low} ${high} after its removal`)
      } else {
        const [low, high] = random(2) === 0 ? known[random(known.length)] : [word(), word()]
        const expected = keys.model.get(`${low} ${high}`) ?? NONE
        if (keys.index.find(low, high) !== expected) expect.fail(`${low} ${high}: not entry ${expected}`)
      }
    }
    keys.expectAllFound()
    for (const [low, high] of known) keys.remove(low, high)
    expect([keys.entries.live, keys.model.size]).toEqual([0, 0])
  })

  it('moves at most one segment of 1,024 slots in any addition, up to 100,000 keys', () => {
    const random = mulberry32(11)
    const keys = new IndexedKeys()
    let most = 0
    for (let i = 0; i < 100_000; i++) {
      keys.entries.reads = 0
      keys.add(random(2 ** 32) | 0, random(2 ** 32) | 0)
      most = Math.max(most, keys.entries.reads)
    }
    expect(most).toBeGreaterThan(SLOTS / 2)
    expect(most).toBeLessThanOrEqual(SLOTS)
    expect(keys.index.bytes).toBeLessThan(100_000 * 12)
    keys.expectAllFound()
  })

  it('distinguishes keys whose slots and tags are the same', () => {
    const keys = new IndexedKeys()
    for (let high = -300; high < 300; high++) keys.add(hashAt(500, 9), high)
    keys.expectAllFound()
    for (let high = -300; high < 300; high += 2) keys.remove(hashAt(500, 9), high)
    keys.expectAllFound()
    expect(keys.index.find(hashAt(500, 9), -300)).toBe(NONE)
    expect(keys.index.find(hashAt(500, 9), 300)).toBe(NONE)
  })

  it('distinguishes keys that differ only in the bits which an id covers', () => {
    const keys = new IndexedKeys()
    const lows = Array.from({ length: 18 }, (_, bit) => 1 << (10 + bit))
    for (const low of [0, ...lows]) keys.add(low, 77)
    keys.expectAllFound()
  })

  it('runs on from slot 1,023 to slot 0', () => {
    const keys = new IndexedKeys()
    for (let tag = 0; tag < 8; tag++) for (const slot of [1_021, 1_022, 1_023, 0, 1]) keys.add(hashAt(slot, tag), 5)
    keys.expectAllFound()
    for (let tag = 7; tag >= 0; tag--) {
      keys.remove(hashAt(1_023, tag), 5)
      keys.expectAllFound()
    }
    expect(keys.model.size).toBe(32)
  })

  it.each([1, 2, 3, 4])('closes gaps in the middle of runs, whichever order they come in (seed %i)', (seed) => {
    const random = mulberry32(seed)
    const keys = new IndexedKeys()
    const known: number[] = []
    for (let i = 0; i < 3_000; i++) {
      if (known.length < 40 && random(2) === 0) {
        const low = hashAt((1_010 + random(24)) % SLOTS, random(16)) | (i << 11)
        keys.add(low, i)
        known.push(low, i)
      } else if (known.length > 0) {
        const [low, high] = known.splice(2 * random(known.length / 2), 2)
        keys.remove(low, high)
      }
      keys.expectAllFound()
    }
  })

  it('splits again and again when all keys fall on one side', () => {
    const keys = new IndexedKeys()
    for (let i = 0; i < 5_000; i++) keys.add(Math.imul(i, 0x9e3779b1), 0x7f000000 | (i << 11))
    keys.add(1, -1)
    keys.add(2, 0)
    keys.expectAllFound()
  })

  it('keeps ids whole up to the highest that a store can have, with the sign bit in the tag', () => {
    const keys = new IndexedKeys(2 ** 26 + 65_536)
    for (const low of [-1, -(2 ** 31), 2 ** 31 - 1, 0, 1, -1024])
      for (const high of [-1, 0, 1, -(2 ** 31)]) keys.add(low, high)
    keys.expectAllFound()
    for (const high of [-1, 0, 1, -(2 ** 31)]) keys.remove(-1, high)
    keys.expectAllFound()
  })

  it('keeps the highest id of its range', () => {
    const most = 4_095
    const keys = new IndexedKeys(most)
    for (let i = 0; i < most; i++) keys.add(Math.imul(i, 0x9e3779b1), Math.imul(i, 0x85ebca6b))
    keys.expectAllFound()
    keys.remove(Math.imul(most - 1, 0x9e3779b1), Math.imul(most - 1, 0x85ebca6b))
    keys.expectAllFound()
  })
})
