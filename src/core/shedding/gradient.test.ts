import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AdaptiveConcurrency, GradientLimit } from './gradient.ts'

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
})

describe('adaptive concurrency', () => {
  it('takes as many as its limit, and one more when one has ended', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 2, min: 1 })
    expect([adaptive.begin(), adaptive.begin(), adaptive.begin()]).toEqual([true, true, false])
    adaptive.end(0, undefined)
    expect([adaptive.inFlight, adaptive.begin()]).toEqual([1, true])
  })

  it('learns once a second, from ten requests at the least', () => {
    const adaptive = new AdaptiveConcurrency({ initial: 20 })
    const round = (nowMs: number, times: number): number => {
      for (let i = 0; i < times; i++) adaptive.begin()
      for (let i = 0; i < times; i++) adaptive.end(nowMs, 10)
      return adaptive.limit
    }
    expect([round(0, 20), round(900, 20), round(1_000, 20), round(1_500, 20)]).toEqual([20, 20, 20, 20])
    for (let second = 2; second < 20; second++) round(second * 1_000, 20)
    expect(adaptive.limit).toBeGreaterThan(25)
  })

  it('is not fooled by more ends than beginnings', () => {
    const adaptive = new AdaptiveConcurrency()
    adaptive.end(0, 1)
    expect(adaptive.inFlight).toBe(0)
  })
})
