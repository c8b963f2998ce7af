import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Pace, paceOf } from './pace.ts'

const MOST = 2048
const limits = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 4_294_967_295 }))
const windowsMs = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 316_224_000_000 }))

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}

/** Compares two fractions without rounding. */
function isFaster(pace: Pace, limit: number, windowMs: number): boolean {
  return BigInt(pace.unitsPerMs) * BigInt(windowMs) > BigInt(limit) * BigInt(pace.unitsPerHit)
}

describe('paceOf', () => {
  const exact: [limit: number, windowMs: number, unitsPerMs: number, unitsPerHit: number][] = [
    [1, 1, 1, 1],
    [100, 60_000, 1, 600],
    [7, 60_000, 7, 60_000],
    [1000, 1000, 1, 1],
    [5000, 1000, 5, 1],
    [2048, 1, 2048, 1],
    [1_000_000, 86_400_000, 5, 432],
    [999, 316_224_000_000, 37, 11_712_000_000],
  ]
  it.each(exact)('%d per %d ms is exactly %d / %d', (limit, windowMs, unitsPerMs, unitsPerHit) => {
    expect(paceOf(limit, windowMs, MOST)).toEqual({ unitsPerMs, unitsPerHit })
  })

  const closest: [limit: number, windowMs: number, most: number, unitsPerMs: number, unitsPerHit: number][] = [
    [2053, 60_000, MOST, 572, 16_717],
    [355, 113, 22, 3, 1],
    [355, 113, 200, 179, 57],
    [2049, 2, MOST, 1024, 1],
    [7, 10, 1, 1, 2],
  ]
  it.each(closest)('%d per %d ms in at most %d units is %d / %d', (limit, windowMs, most, unitsPerMs, unitsPerHit) => {
    expect(paceOf(limit, windowMs, most)).toEqual({ unitsPerMs, unitsPerHit })
  })

  it('has no pace for more than the most units in a millisecond', () => {
    expect(paceOf(2049, 1, MOST)).toBeUndefined()
    expect(paceOf(2_048_001, 1000, MOST)).toBeUndefined()
    expect(paceOf(2_048_000, 1000, MOST)).toEqual({ unitsPerMs: 2048, unitsPerHit: 1 })
  })

  it('is in lowest terms, never faster than asked, and at most 0.1 % slower', () => {
    fc.assert(
      fc.property(limits, windowsMs, (limit, windowMs) => {
        const pace = paceOf(limit, windowMs, MOST)
        if (pace === undefined) {
          expect(limit / windowMs).toBeGreaterThan(MOST)
          return
        }
        expect(pace.unitsPerMs).toBeLessThanOrEqual(MOST)
        expect(gcd(pace.unitsPerMs, pace.unitsPerHit)).toBe(1)
        expect(isFaster(pace, limit, windowMs)).toBe(false)
        expect(pace.unitsPerMs / pace.unitsPerHit).toBeGreaterThanOrEqual((limit / windowMs) * 0.999)
      }),
      { numRuns: 2000 },
    )
  })

  it('is the closest of all fractions with so few units', () => {
    const small = fc.integer({ min: 1, max: 300 })
    fc.assert(
      fc.property(small, small, fc.integer({ min: 1, max: 40 }), (limit, windowMs, most) => {
        fc.pre(limit / windowMs <= most)
        const byHand = Array.from(
          { length: most },
          (_, index) => (index + 1) / Math.ceil(((index + 1) * windowMs) / limit),
        )
        const pace = paceOf(limit, windowMs, most)!
        expect(pace.unitsPerMs / pace.unitsPerHit).toBe(Math.max(...byHand))
      }),
      { numRuns: 500 },
    )
  })

  it('is exact whenever the lowest terms fit', () => {
    fc.assert(
      fc.property(limits, windowsMs, (limit, windowMs) => {
        const divisor = gcd(limit, windowMs)
        fc.pre(limit / divisor <= MOST)
        expect(paceOf(limit, windowMs, MOST)).toEqual({ unitsPerMs: limit / divisor, unitsPerHit: windowMs / divisor })
      }),
      { numRuns: 300 },
    )
  })
})
