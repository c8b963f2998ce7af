import fc from 'fast-check'
import type { Verdict } from '../decision.ts'
import { type Algorithm, compileLimit, type Limit, type LimitOptions } from '../limit.ts'
import { type CounterState, step } from '../step.ts'
import { REGRESSIONS } from './regressions.suite.ts'
import type { Cost, Schedule, Wait } from './schedule.suite.ts'

/** One resolved move: what came when, what it found, what it got, what it left. */
export interface Request {
  readonly nowMs: number
  readonly cost: number
  readonly before: CounterState | undefined
  readonly after: CounterState | undefined
  readonly verdict: Verdict
}

/** Time ends at the year 2100: up to there, every algorithm's arithmetic is exact. */
export const YEAR_2100_MS = 4_102_444_800_000

/** Sends a schedule through step, one request at a time. */
export function* play(limit: Limit, schedule: Schedule): Generator<Request> {
  let nowMs = schedule.startMs
  let state: CounterState | undefined
  let retryAfterMs = 0
  for (const [wait, cost] of schedule.moves) {
    nowMs = Math.min(Math.max(0, arrival(limit, nowMs, retryAfterMs, wait)), YEAR_2100_MS)
    const request = { nowMs, cost: hitsOf(limit, state, nowMs, cost), before: state }
    const next = step(state, limit, nowMs, request.cost)
    yield { ...request, after: next.state, verdict: next.verdict }
    state = next.state
    if (next.verdict.kind === 'refused') retryAfterMs = next.verdict.retryAfterMs
  }
}

function arrival(limit: Limit, nowMs: number, retryAfterMs: number, [kind, size]: Wait): number {
  if (kind === 'ms') return nowMs + size
  if (kind === 'share') return nowMs + Math.round(size * limit.windowMs)
  if (kind === 'back') return nowMs - Math.max(1, Math.round(size * limit.windowMs))
  if (kind === 'retry') return nowMs + Math.max(0, retryAfterMs + size)
  if (limit.calendar && kind === 'edge') return Math.max(nowMs, limit.calendar.windowAt(nowMs).endMs + size)
  const grid = kind === 'part' && limit.quantumMs > 1 ? limit.quantumMs : limit.windowMs
  return Math.max(nowMs, nowMs - (nowMs % grid) + grid + size)
}

function hitsOf(limit: Limit, state: CounterState | undefined, nowMs: number, [kind, size]: Cost): number {
  if (kind === 'hits') return size
  if (kind === 'share') return Math.round(size * limit.capacity)
  return Math.max(0, step(state, limit, nowMs, 0).verdict.remaining + size)
}

const aroundZero = fc.constantFrom(-1, 0, 1)
const forward: fc.Arbitrary<Wait> = fc.oneof(
  fc.tuple(fc.constant('ms' as const), fc.constantFrom(0, 0, 1, 2, 17)),
  fc.tuple(fc.constant('share' as const), fc.double({ min: 0, max: 2.5, noNaN: true })),
  fc.tuple(fc.constant('share' as const), fc.double({ min: 0, max: 0.05, noNaN: true })),
  fc.tuple(fc.constant('edge' as const), aroundZero),
  fc.tuple(fc.constant('part' as const), aroundZero),
  fc.tuple(fc.constant('retry' as const), aroundZero),
)
const backward: fc.Arbitrary<Wait> = fc.tuple(
  fc.constant('back' as const),
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 2, noNaN: true }), fc.constantFrom(10, 1000)),
)
const charge: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('hits' as const), fc.constantFrom(1, 1, 1, 2, 3)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('share' as const), fc.double({ min: 0, max: 1.1, noNaN: true })) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('left' as const), aroundZero) },
)
const anyCost: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 8, arbitrary: charge },
  { weight: 1, arbitrary: fc.constant(['hits', 0] as const) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('hits' as const), fc.constantFrom(-1, -2, -7)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('share' as const), fc.double({ min: -1.2, max: 0, noNaN: true })) },
)

const startMs = fc.oneof(
  fc.integer({ min: 0, max: 5000 }),
  fc.integer({ min: 0, max: YEAR_2100_MS }),
  fc.constant(YEAR_2100_MS),
)

const schedulesOf = (wait: fc.Arbitrary<Wait>, cost: fc.Arbitrary<Cost>): fc.Arbitrary<Schedule> =>
  fc.record({ startMs, moves: fc.array(fc.tuple(wait, cost), { minLength: 1, maxLength: 24 }) })

const backAndForth = fc.oneof({ weight: 3, arbitrary: forward }, { weight: 1, arbitrary: backward })
const greed: fc.Arbitrary<Cost> = fc.constantFrom(['left', 0], ['left', 0], ['hits', 1])

/** Schedules of every temper: on a steady clock or on one that is set back too; any cost, charges alone, all that fits. */
export const steadySchedules = schedulesOf(forward, anyCost)
export const chargingSchedules = schedulesOf(forward, charge)
export const greedySchedules = schedulesOf(forward, greed)
export const jumpySchedules = schedulesOf(backAndForth, anyCost)
export const jumpyChargingSchedules = schedulesOf(backAndForth, fc.oneof(charge, greed))

const YEAR_MS = 365 * 86_400_000
const PRIMES = [2, 3, 7, 13, 97, 997, 2053, 7919, 65_537, 999_983] as const
const ROUND_WINDOWS = [1000, 60_000, 3_600_000, 86_400_000, 30 * 86_400_000, YEAR_MS, 10 * YEAR_MS] as const
export const windows = fc.oneof(
  fc.integer({ min: 1, max: 10 }),
  fc.integer({ min: 1, max: 2000 }),
  fc.constantFrom(...ROUND_WINDOWS),
  fc.constantFrom(...PRIMES),
  fc.integer({ min: 1, max: 10 * YEAR_MS }),
)
export const counts = fc.oneof(
  fc.integer({ min: 1, max: 10 }),
  fc.integer({ min: 1, max: 1000 }),
  fc.constantFrom(...PRIMES),
  fc.integer({ min: 1, max: 1_000_000 }),
)
const smallCounts = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 200 }))
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/Sao_Paulo', 'Africa/Cairo', 'Australia/Lord_Howe']

type Options = fc.Arbitrary<LimitOptions>
const countDenied = fc.boolean()
const calendar = fc.record({
  unit: fc.constantFrom('day', 'week', 'month', 'year'),
  timeZone: fc.constantFrom(...ZONES),
})
const counter = (algorithm: Algorithm): Options =>
  fc.record({ algorithm: fc.constant(algorithm), limit: counts, window: windows, countDenied })

/** Yields limits whose burst differs from the limit half of the time, and whose arithmetic fits. */
export function bucket(algorithm: 'token_bucket' | 'gcra' | 'leaky_bucket'): Options {
  const burst = fc.oneof(fc.integer({ min: 1, max: 20 }), counts)
  const options = { algorithm: fc.constant(algorithm), limit: counts, window: windows, countDenied }
  return fc.oneof(fc.record(options), fc.record({ ...options, burst })).filter(compiles)
}

function compiles(options: LimitOptions): boolean {
  try {
    compileLimit(options)
    return true
  } catch {
    return false
  }
}

/** The seven algorithms, with the variants (calendars, anchors, sub-windows) that have state of their own. */
export const KINDS = {
  fixed_window: counter('fixed_window'),
  'fixed_window on a calendar': fc.record({
    algorithm: fc.constant('fixed_window' as const),
    limit: counts,
    calendar,
    countDenied,
  }) as Options,
  'fixed_window from the first hit': fc.record({
    algorithm: fc.constant('fixed_window' as const),
    anchor: fc.constant('first_hit' as const),
    limit: counts,
    window: windows,
    countDenied,
  }) as Options,
  sliding_window: counter('sliding_window'),
  'sliding_window with sub-windows': fc
    .record({ limit: smallCounts, window: windows, subWindows: fc.integer({ min: 2, max: 60 }), countDenied })
    .filter(compiles),
  token_bucket: bucket('token_bucket'),
  gcra: bucket('gcra'),
  leaky_bucket: bucket('leaky_bucket'),
  sliding_log: fc.record({
    algorithm: fc.constant('sliding_log' as const),
    limit: smallCounts,
    window: windows,
    countDenied,
  }),
  concurrency: fc.record({ algorithm: fc.constant('concurrency' as const), limit: smallCounts, leaseTtl: windows }),
} satisfies Record<string, Options>

export type Kind = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as Kind[]

/**
 * Checks a claim for limits of one kind and schedules of one temper: the cases that failed once, then random ones. A
 * failure prints its seed and path; its shrunk case belongs into regressions.suite.ts.
 */
export function holds(
  kind: Kind,
  schedules: fc.Arbitrary<Schedule>,
  numRuns: number,
  claim: (limit: Limit, schedule: Schedule) => void,
): void {
  const property = fc.property(KINDS[kind], schedules, (options, schedule) => claim(compileLimit(options), schedule))
  fc.assert(property, { numRuns, examples: REGRESSIONS[kind] ?? [] })
}
