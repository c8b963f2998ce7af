import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GradientLimit } from './gradient.ts'

/** expected computes the law once more, from its formulas. */
function oracle(samples: readonly (readonly [shortMs: number, inFlight: number])[]): number {
  let limit = 20
  let long = 0
  samples.forEach(([short, inFlight], i) => {
    long = i < 10 ? long + (short - long) / (i + 1) : long + (2 / 601) * (short - long)
    const used = long
    if (long / short > 2) long *= 0.95
    if (inFlight < limit / 2) return
    const wanted = limit * Math.min(1, Math.max(0.5, (1.5 * used) / short)) + 4
    limit = Math.min(200, Math.max(20, 0.8 * limit + 0.2 * wanted))
  })
  return limit
}

describe('a gradient limit', () => {
  it('is what its formulas say', () => {
    const samples = fc.array(fc.tuple(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 0, max: 300 })))
    fc.assert(
      fc.property(samples, (all) => {
        const limit = new GradientLimit()
        for (const [shortMs, inFlight] of all) limit.sample(shortMs, inFlight)
        expect([limit.limit, limit.limit + 1]).toContain(Math.floor(oracle(all) + 1e-6))
      }),
    )
  })

  it('grows while times stay as they are and it is used, up to its bound', () => {
    const limit = new GradientLimit()
    for (let i = 0; i < 5; i++) limit.sample(10, 100)
    expect(limit.limit).toBe(24)
    for (let i = 0; i < 1_000; i++) limit.sample(10, 200)
    expect(limit.limit).toBe(200)
  })

  it('stays where it is used by less than half', () => {
    const limit = new GradientLimit()
    for (let i = 0; i < 100; i++) limit.sample(10, 9)
    expect(limit.limit).toBe(20)
  })

  it('falls when requests take longer than usual, down to its bound', () => {
    const limit = new GradientLimit({ initial: 200 })
    for (let i = 0; i < 10; i++) limit.sample(10, 200)
    for (let i = 0; i < 30; i++) limit.sample(100, 200)
    expect(limit.limit).toBe(20)
  })

  it('takes a time of nothing for no time', () => {
    const limit = new GradientLimit()
    for (const shortMs of [0, -1, Number.NaN]) limit.sample(shortMs, 100)
    expect([limit.limit, limit.longMs]).toEqual([20, 0])
  })

  it('grows by a factor until requests take longer, where it is configured to', () => {
    const limit = new GradientLimit({ rise: 1.5, max: 1_000 })
    for (let i = 0; i < 10; i++) limit.sample(10, 1_000)
    expect(limit.limit).toBe(1_000)
    const other = new GradientLimit({ rise: 1.5, max: 1_000 })
    for (const shortMs of [10, 10, 12, 10, 10]) other.sample(shortMs, 1_000)
    expect(other.limit).toBe(47)
  })

  it('does not take an overload for usual, however long it lasts, where it is configured to hold', () => {
    const limit = new GradientLimit({ holds: true })
    for (let i = 0; i < 20; i++) limit.sample(10, 5)
    for (let i = 0; i < 10_000; i++) limit.sample(20, 200)
    expect(limit.longMs).toBeCloseTo(10)
    // Where few are under way, slow is the usual time.
    for (let i = 0; i < 2_000; i++) limit.sample(20, 5)
    expect(limit.longMs).toBeCloseTo(20, 1)
    limit.relearn(30)
    limit.relearn(Number.NaN)
    expect(limit.longMs).toBe(30)
  })
})
