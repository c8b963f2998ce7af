import { expect } from 'vitest'
import type { Limit } from '../limit.ts'
import { type CounterState, step } from '../step.ts'
import type { Request } from './arbitraries.suite.ts'

/** [timeMs, hits] of each admission, in the order they came. */
export type Admitted = readonly (readonly [timeMs: number, hits: number])[]

/** Returns the most hits that any span of spanMs milliseconds holds: the sliding log, by brute force. */
export function mostWithin(admitted: Admitted, spanMs: number): number {
  let [most, sum, oldest] = [0, 0, 0]
  for (const [timeMs, hits] of admitted) {
    sum += hits
    while (admitted[oldest]![0] <= timeMs - spanMs) sum -= admitted[oldest++]![1]
    most = Math.max(most, sum)
  }
  return most
}

/**
 * Lists what was admitted, each at the way that the clock has gone forward until then. For a clock that is never set
 * back that is the time since the first request; steps back do not count as time that passes.
 */
export function admittedOf(requests: Iterable<Request>): Admitted {
  const admitted: [number, number][] = []
  let [forwardMs, lastMs] = [0, Number.POSITIVE_INFINITY]
  for (const { nowMs, cost, verdict } of requests) {
    forwardMs += Math.max(0, nowMs - lastMs)
    lastMs = nowMs
    if (verdict.allowed && cost > 0) admitted.push([forwardMs, cost])
  }
  return admitted
}

/** Sends single hits at the given times and lists those that were admitted. */
export function admit(limit: Limit, timesMs: Iterable<number>): Admitted {
  const admitted: [number, number][] = []
  let state: CounterState | undefined
  for (const timeMs of timesMs) {
    const next = step(state, limit, timeMs, 1)
    state = next.state
    if (next.verdict.allowed) admitted.push([timeMs, 1])
  }
  return admitted
}

/** Returns the bound that each algorithm promises for any span of up to one window. */
export function mostAdmittedWithin(limit: Limit, spanMs: number): number {
  switch (limit.algorithm) {
    case 'sliding_window':
      return limit.isLog ? limit.max : limit.max + Math.ceil((limit.max * (spanMs - 1)) / limit.windowMs)
    case 'fixed_window':
      return 2 * limit.max
    case 'sliding_log':
    case 'concurrency':
      return limit.max
    default:
      return limit.capacity + Math.floor(((spanMs - 1) * limit.unitsPerMs) / limit.unitsPerHit)
  }
}

/** Compares what was admitted with the bound, over spans from 1 ms to a whole window. */
export function expectBounded(limit: Limit, admitted: Admitted, extra = 0): void {
  const windowMs = limit.calendar ? MIN_MS[limit.calendar.unit] : limit.windowMs
  for (const share of [0, 0.1, 0.5, 0.9, 1]) {
    const spanMs = Math.max(1, Math.round(windowMs * share))
    expect(mostWithin(admitted, spanMs)).toBeLessThanOrEqual(mostAdmittedWithin(limit, spanMs) + extra)
  }
}

const HOUR_MS = 3_600_000
const MIN_MS = { day: 22 * HOUR_MS, week: 166 * HOUR_MS, month: 670 * HOUR_MS, year: 8758 * HOUR_MS }

/** Returns numbers in [0, 1), the same ones for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Yields the times of arrivals that come at random, `load` times the limit on average. */
export function* poisson(limit: Limit, load: number, windows: number, seed: number): Generator<number> {
  const random = seededRandom(seed)
  const meanGapMs = limit.windowMs / (limit.max * load)
  const nextGapMs = (): number => -Math.log(1 - random()) * meanGapMs
  for (let timeMs = nextGapMs(); timeMs < windows * limit.windowMs; timeMs += nextGapMs()) yield Math.floor(timeMs)
}
