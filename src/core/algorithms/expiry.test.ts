import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { verdictOf } from '../decision.ts'
import { compileLimit, type Limit, type LimitOptions } from '../limit.ts'
import { type CounterState, type HitRecord, step } from '../step.ts'
import { holds, jumpySchedules, KIND_NAMES, play, type Request } from './arbitraries.suite.ts'
import type { HitLog } from './hit-log.ts'
import { NEVER, Outcome } from './outcome.ts'

type Numbers = readonly [at: number, first: number, second: number]
const AT_MS = 1_780_000_020_000
const TEN: Readonly<Record<string, LimitOptions>> = {
  fixed_window: { algorithm: 'fixed_window', limit: 10, window: '1h' },
  'fixed_window on a calendar': { algorithm: 'fixed_window', limit: 10, calendar: { unit: 'month' } },
  'fixed_window from the first hit': { algorithm: 'fixed_window', limit: 10, window: '1h', anchor: 'first_hit' },
  sliding_window: { limit: 10, window: '1h' },
  'sliding_window with sub-windows': { limit: 10, window: '1h', subWindows: 6 },
  sliding_log: { algorithm: 'sliding_log', limit: 10, window: '1h' },
  token_bucket: { algorithm: 'token_bucket', limit: 10, window: '1h' },
  gcra: { algorithm: 'gcra', limit: 10, window: '1h' },
  leaky_bucket: { algorithm: 'leaky_bucket', limit: 10, window: '1h' },
}
const UNUSED: Numbers = [NEVER, 0, 0]

describe.each(KIND_NAMES)('%s', (kind) => {
  it('is worth no more than an unused counter from expiresAtMs on', () => {
    holds(kind, jumpySchedules, 80, (limit, schedule) => {
      for (const request of play(limit, schedule)) expectForgettable(limit, request)
    })
  })
})

describe.each(Object.entries(TEN))('a counter of %s', (_, options) => {
  it('leaves nothing to keep when everything was given back, and something as long as it was not', () => {
    const limit = compileLimit(options)
    const [taken, refunded] = [step(undefined, limit, AT_MS, 3), step(undefined, limit, AT_MS, -3)]
    expect(taken.state).toBeDefined()
    expect(refunded.state).toBeUndefined()
    expect(step(taken.state, limit, AT_MS + 1, -2).state).toBeDefined()
    expect(step(taken.state, limit, AT_MS + 1, -3).state).toBeUndefined()
    expect(step(taken.state, limit, AT_MS + 1, -4).state).toBeUndefined()
  })
})

/** Compares a counter with an unused one, at its expiry and later, for costs of every sort. */
function expectForgettable(limit: Limit, { before, after, nowMs, cost }: Request): void {
  const out = limit.isLog
    ? onLog(recordsOf(before), limit, nowMs, cost)
    : onNumbers(numbersOf(before), limit, nowMs, cost)
  const from = Math.max(out.expiresAtMs, nowMs)
  for (const thenMs of [from, from + 1, from + Math.floor(limit.windowMs / 2), from + 3 * limit.windowMs]) {
    for (const later of [0, 1, limit.capacity, limit.capacity + 1, -1]) {
      const [kept, unused] = limit.isLog
        ? [onLog(recordsOf(after), limit, thenMs, later), onLog([], limit, thenMs, later)]
        : [onNumbers([out.at, out.first, out.second], limit, thenMs, later), onNumbers(UNUSED, limit, thenMs, later)]
      const [found, wanted] = [kept, unused].map((each) => [verdictOf(each, limit), each.expiresAtMs])
      // There are so many of them that assertions alone took half of the time.
      if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted)
    }
  }
}

function onNumbers([at, first, second]: Numbers, limit: Limit, nowMs: number, cost: number): Outcome {
  const out = new Outcome()
  limit.algorithmRecord.evaluateNumbers(at, first, second, limit, nowMs, cost, out)
  return out
}

function onLog(records: readonly HitRecord[], limit: Limit, nowMs: number, cost: number): Outcome {
  const out = new Outcome()
  limit.algorithmRecord.evaluateLog(hitLog(records), limit, nowMs, cost, out)
  return out
}

function numbersOf(state: CounterState | undefined): Numbers {
  return state !== undefined && 'at' in state ? [state.at, state.first, state.second] : UNUSED
}

function recordsOf(state: CounterState | undefined): readonly HitRecord[] {
  return state !== undefined && 'records' in state ? state.records : []
}

function hitLog(records: readonly HitRecord[]): HitLog {
  let position = -1
  return {
    totalHits: records.reduce((sum, [, hits]) => sum + hits, 0),
    newestMs: records.at(-1)?.[0] ?? NEVER,
    rewind: () => {
      position = -1
    },
    next: () => ++position < records.length,
    get timeMs() {
      return records[position]![0]
    },
    get hits() {
      return records[position]![1]
    },
  }
}
