import { describe, expect, it } from 'vitest'
import { compileLimit, type Limit, type LimitOptions } from '../limit.ts'
import { step } from '../step.ts'
import { holds, jumpyChargingSchedules, jumpySchedules, KIND_NAMES, play } from './arbitraries.suite.ts'
import { admit, admittedOf, expectBounded } from './oracle.suite.ts'

describe.each(KIND_NAMES)('%s, when the clock is set back', (kind) => {
  it('has no more left than just before', () => {
    holds(kind, jumpySchedules, 100, (limit, schedule) => {
      for (const { nowMs, after, verdict } of play(limit, schedule)) {
        for (const backMs of [1, Math.ceil(limit.windowMs / 2), limit.windowMs, 5 * limit.windowMs, nowMs]) {
          const earlier = step(after, limit, Math.max(0, nowMs - backMs), 0).verdict
          expect(earlier.remaining).toBeLessThanOrEqual(verdict.remaining)
        }
      }
    })
  })

  it('names no longer a wait than the longest on a steady clock', () => {
    holds(kind, jumpySchedules, 200, (limit, schedule) => {
      for (const { verdict } of play(limit, schedule)) {
        const longestMs = longestWaitMs(limit)
        // What can never be admitted has a reset all the same: of an unused bucket, the window.
        const resetMs = verdict.kind === 'impossible' ? Math.max(longestMs, limit.windowMs) : longestMs
        expect(verdict.resetAfterMs).toBeLessThanOrEqual(resetMs)
        if (verdict.kind === 'refused') expect(verdict.retryAfterMs).toBeLessThanOrEqual(longestWaitMs(limit))
      }
    })
  })

  // Budget comes only from time that passes forward. Over any way that the clock goes forward, however often it is set
  // back in between, the bounds of a steady clock hold. A fixed window alone may admit one limit more: one that was
  // moved off its grid ends inside a window of the grid, which then has its own limit.
  it('admits no more than a steady clock that goes the same way forward', () => {
    holds(kind, jumpyChargingSchedules, 300, (limit, schedule) => {
      const extra = limit.algorithm === 'fixed_window' ? limit.max : 0
      expectBounded(limit, admittedOf(play(limit, schedule)), extra)
    })
  })
})

describe('a clock that flaps over the edge of a window', () => {
  const beforeEdge = Array<number>(10).fill(59_999)
  const flapping = Array.from({ length: 1000 }, (_, index) => 60_000 - (index % 2))

  const cases: [options: LimitOptions, admitted: number][] = [
    [{ algorithm: 'fixed_window', limit: 10, window: '1m' }, 20],
    [{ algorithm: 'fixed_window', limit: 10, calendar: { unit: 'day', timeZone: 'Asia/Kathmandu' } }, 10],
    [{ algorithm: 'sliding_window', limit: 10, window: '1m' }, 11],
    [{ algorithm: 'sliding_window', limit: 10, window: '1m', subWindows: 6 }, 10],
    [{ algorithm: 'sliding_log', limit: 10, window: '1m' }, 10],
    [{ algorithm: 'gcra', limit: 10, window: '1m' }, 10],
    [{ algorithm: 'token_bucket', limit: 10, window: '1m' }, 10],
  ]
  it.each(cases)('opens one new window, not one each time: %o', (options, admitted) => {
    expect(admit(compileLimit(options), [...beforeEdge, ...flapping])).toHaveLength(admitted)
  })
})

/** The longest wait that an algorithm can name on a steady clock. */
function longestWaitMs(limit: Limit): number {
  switch (limit.algorithm) {
    case 'sliding_window':
      return limit.isLog ? limit.windowMs + limit.quantumMs - 1 : 2 * limit.windowMs
    case 'fixed_window':
    case 'sliding_log':
    case 'concurrency':
      return limit.windowMs
    default:
      return Math.ceil(((limit.countDenied ? 2 : 1) * limit.fullUnits) / limit.unitsPerMs)
  }
}
