import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { type CounterState, step } from '../step.ts'
import { bucket, chargingSchedules, play, steadySchedules } from './arbitraries.suite.ts'

/** Limits that both algorithms take. */
const pairs = bucket('gcra').filter((options) => tokenBucketOf(options) !== undefined)

function tokenBucketOf(options: LimitOptions) {
  try {
    return compileLimit({ ...options, algorithm: 'token_bucket' })
  } catch {
    return undefined
  }
}

describe('gcra against token_bucket', () => {
  it('has the same pace whenever limit / gcd(limit, window) is at most 512 and the bucket fills within 4 years', () => {
    fc.assert(
      fc.property(pairs, (options) => {
        const [exact, gcra] = [tokenBucketOf(options)!, compileLimit(options)]
        const fillMs = exact.fullUnits / exact.unitsPerMs
        fc.pre(exact.unitsPerMs <= 512 && fillMs <= 4 * 365 * 86_400_000)
        expect([gcra.unitsPerMs, gcra.unitsPerHit]).toEqual([exact.unitsPerMs, exact.unitsPerHit])
      }),
    )
  })

  it('gives the same verdict in every field when its pace is exact, refunds and debts included', () => {
    fc.assert(
      fc.property(pairs, steadySchedules, (options, schedule) => {
        const [exact, gcra] = [tokenBucketOf(options)!, compileLimit(options)]
        fc.pre(gcra.unitsPerMs === exact.unitsPerMs && gcra.unitsPerHit === exact.unitsPerHit)
        let state: CounterState | undefined
        for (const { nowMs, cost, verdict } of play(exact, schedule)) {
          const next = step(state, gcra, nowMs, cost)
          expect(next.verdict).toEqual(verdict)
          state = next.state
        }
      }),
      { numRuns: 500 },
    )
  })

  it('has never admitted more single hits, exact or not', () => {
    fc.assert(
      fc.property(pairs, chargingSchedules, (options, schedule) => {
        const [exact, gcra] = [
          tokenBucketOf({ ...options, countDenied: false })!,
          compileLimit({ ...options, countDenied: false }),
        ]
        let [byBucket, byGcra] = [0, 0]
        let state: CounterState | undefined
        const single = { ...schedule, moves: schedule.moves.map(([wait]) => [wait, ['hits', 1]] as const) }
        for (const { nowMs, verdict } of play(exact, single)) {
          const next = step(state, gcra, nowMs, 1)
          state = next.state
          if (verdict.allowed) byBucket++
          if (next.verdict.allowed) byGcra++
          expect(byGcra).toBeLessThanOrEqual(byBucket)
        }
      }),
      { numRuns: 300 },
    )
  })
})
