import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { type CounterState, step } from '../step.ts'
import { chargingSchedules, greedySchedules, holds, KIND_NAMES, play } from './arbitraries.suite.ts'
import { admit, admittedOf, expectBounded, mostWithin, poisson } from './oracle.suite.ts'

/*
 * The most that any span of s ms up to a window W can hold, for limit L and burst B at rate r:
 * sliding_log, sub-windows, concurrency: L. fixed_window: 2 L. sliding_window: L + ⌈L (s − 1) / W⌉, so 2 L at the most.
 * token_bucket, gcra, leaky_bucket: B + r (s − 1).
 */
describe.each(KIND_NAMES)('%s', (kind) => {
  it('keeps its bound over every span, for any costs', () => {
    holds(kind, chargingSchedules, 300, (limit, schedule) => {
      expectBounded(limit, admittedOf(play(limit, schedule)))
    })
  })

  it('keeps its bound for a client that takes all it can at every edge and at every retryAfterMs', () => {
    holds(kind, greedySchedules, 300, (limit, schedule) => {
      expectBounded(limit, admittedOf(play(limit, schedule)))
    })
  })
})

describe('the worst client', () => {
  /** Takes all that fits at the end of a window, then again in each millisecond of the next. */
  function worst(options: LimitOptions): number {
    const limit = compileLimit(options)
    const admitted: [number, number][] = []
    let state: CounterState | undefined
    for (let nowMs = 999; nowMs < 1999; nowMs++) {
      const cost = step(state, limit, nowMs, 0).verdict.remaining
      const next = step(state, limit, nowMs, cost)
      state = next.state
      admitted.push([nowMs, cost])
    }
    return mostWithin(admitted, 1000)
  }

  const cases: [claim: string, options: LimitOptions, most: number][] = [
    ['2 L of a fixed window', { algorithm: 'fixed_window', limit: 50, window: 1000 }, 100],
    ['2 L of a sliding window', { algorithm: 'sliding_window', limit: 50, window: 1000 }, 100],
    ['2 L − L / W of a sliding window of few ms', { algorithm: 'sliding_window', limit: 5000, window: 1000 }, 9995],
    ['L of a sliding window in parts', { algorithm: 'sliding_window', limit: 50, window: 1000, subWindows: 10 }, 50],
    ['L of a sliding log', { algorithm: 'sliding_log', limit: 50, window: 1000 }, 50],
    ['2 L − 1 of a token bucket', { algorithm: 'token_bucket', limit: 50, window: 1000 }, 99],
    ['B + r (W − 1) of a token bucket', { algorithm: 'token_bucket', limit: 50, window: 1000, burst: 7 }, 56],
    ['B + r (W − 1) of gcra', { algorithm: 'gcra', limit: 50, window: 1000, burst: 7 }, 56],
  ]
  it.each(cases)('gets %s', (_, options, most) => {
    expect(worst(options)).toBe(most)
  })
})

describe('leaky_bucket', () => {
  it('lets nothing out before what is ahead of it has had its time', () => {
    holds('leaky_bucket', greedySchedules, 300, (limit, schedule) => {
      let earliestMs = 0
      for (const { nowMs, cost, verdict } of play(limit, schedule)) {
        if (verdict.kind !== 'allowed' || cost === 0) continue
        const outMs = nowMs + verdict.delayMs
        expect(outMs).toBeGreaterThanOrEqual(earliestMs)
        earliestMs = outMs + Math.floor((cost * limit.unitsPerHit) / limit.unitsPerMs)
      }
    })
  })

  it('never lets two single hits out closer than the whole milliseconds of its interval', () => {
    const limit = compileLimit({ algorithm: 'leaky_bucket', limit: 7, window: 1000 })
    let state: CounterState | undefined
    const outMs = Array.from({ length: 3000 }, (_, nowMs) => {
      const next = step(state, limit, nowMs, 1)
      state = next.state
      return next.verdict.kind === 'allowed' ? [nowMs + next.verdict.delayMs] : []
    }).flat()
    const gaps = outMs.slice(1).map((ms, index) => ms - outMs[index]!)
    expect(new Set(gaps)).toEqual(new Set([142, 143]))
  })
})

/* Poisson arrivals, computed with the seeds below; each figure is the largest of them. */
describe('random traffic', () => {
  const SEEDS = [1, 2, 3]
  const worstShare = (options: LimitOptions, load: number, windows: number): number => {
    const limit = compileLimit(options)
    const most = SEEDS.map((seed) => mostWithin(admit(limit, poisson(limit, load, windows, seed)), limit.windowMs))
    return Math.max(...most) / limit.max
  }

  const overshoots: [limit: number, load: number, windows: number, most: number][] = [
    [50, 1, 500, 1.24],
    [50, 2, 500, 1.14],
    [50, 5, 500, 1.06],
    [1000, 1, 50, 1.05],
    [1000, 2, 50, 1.01],
  ]
  it.each(overshoots)(
    'of %d × %d a window puts a sliding window, in %d windows, at most at %d L',
    (limit, load, windows, most) => {
      expect(worstShare({ limit, window: '1m' }, load, windows)).toBeLessThanOrEqual(most)
    },
  )

  it.each([1.05, 1.2, 1.5, 2, 4, 20])('of %d × the limit gets 98 % of the log through 60 sub-windows', (load) => {
    const log = compileLimit({ algorithm: 'sliding_log', limit: 50, window: '1m' })
    const parts = compileLimit({ limit: 50, window: '1m', subWindows: 60 })
    const shares = SEEDS.map((seed) => {
      const [byParts, byLog] = [parts, log].map((limit) => admit(limit, poisson(limit, load, 50, seed)).length)
      return byParts! / byLog!
    })
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.98)
  })
})
