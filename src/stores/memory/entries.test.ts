import { describe, expect, it } from 'vitest'
import { CHUNK, ENTRY_BYTES, Entries, FREED, isLogEntry, NONE, openStanding, Standing, standingOf } from './entries.ts'

describe('entries', () => {
  it('grow the first chunk alone, by doubling, and never move any other', () => {
    const entries = new Entries()
    const seen: ArrayBufferLike[] = []
    let copies = 0
    for (let i = 0; i < 3 * CHUNK + 1; i++) {
      const id = entries.append()
      expect(id).toBe(i)
      entries.setKey(id, i, ~i)
      const chunk = id >>> 12
      if (seen[chunk] !== undefined && seen[chunk] !== entries.chunks[chunk].words.buffer) copies++
      seen[chunk] = entries.chunks[chunk].words.buffer
    }
    expect(copies).toBe(Math.log2(CHUNK / 64))
    expect(entries.chunks.map((chunk) => chunk.words.buffer)).toEqual(seen)
    expect(entries.bytes).toBe(4 * CHUNK * ENTRY_BYTES)
    for (let i = 0; i < entries.size; i++) expect([entries.low(i), entries.high(i)]).toEqual([i, ~i])
  })

  it('stay small while few are made', () => {
    const entries = new Entries()
    for (let i = 0; i < 64; i++) entries.append()
    expect(entries.bytes).toBe(64 * ENTRY_BYTES)
  })

  it('hand freed entries out again, the last one first, before any is made', () => {
    const entries = new Entries()
    for (let i = 0; i < 100; i++) entries.append()
    expect([entries.isPacked, entries.takeFreed()]).toEqual([true, NONE])
    for (const id of [0, 99, 42]) entries.free(id)
    expect([entries.live, entries.size, entries.isPacked]).toEqual([97, 100, false])
    expect(entries.expiry(42)).toBe(FREED)
    expect([entries.takeFreed(), entries.takeFreed(), entries.takeFreed(), entries.takeFreed()]).toEqual([
      42,
      99,
      0,
      NONE,
    ])
    expect([entries.live, entries.size, entries.isPacked]).toEqual([100, 100, true])
  })

  it.each([0, 1, 1_780_000_000_000, 4_102_444_800_000 + 7_305 * 86_400_000])(
    'keep an expiry of %d ms next to a standing',
    (ms) => {
      const entries = new Entries()
      const id = entries.append()
      for (const standing of [...Object.values(Standing), ...[1, 2, 3, 4].map((left) => openStanding(left, 5))]) {
        for (const isLog of [false, true]) {
          entries.setExpiry(id, ms, standing, isLog)
          const expiry = entries.expiry(id)
          expect([Math.floor(expiry), standingOf(expiry), isLogEntry(expiry)]).toEqual([ms, standing, isLog])
        }
      }
    },
  )

  it('stand higher the more of their budget is used, and always below entries that have spent it', () => {
    const standings = [10, 9, 8, 5, 2, 1].map((left) => openStanding(left, 10))
    expect(standings).toEqual([...standings].sort((a, b) => a - b))
    expect(openStanding(4_294_967_295, 4_294_967_295)).toBe(Standing.Open)
    expect(openStanding(1, 4_294_967_295)).toBeGreaterThan(openStanding(9, 10))
    expect(openStanding(1, 4_294_967_295)).toBeLessThan(Standing.Spent)
  })

  it('take a fraction of a millisecond for the next whole one, not for a standing', () => {
    const entries = new Entries()
    const id = entries.append()
    entries.setExpiry(id, 1_000.625, Standing.Open, false)
    expect(entries.expiry(id)).toBe(1_001)
  })
})
