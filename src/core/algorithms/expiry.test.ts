import { describe, expect, it } from 'vitest'
import { verdictOf } from '../decision.ts'
import type { Limit } from '../limit.ts'
import type { CounterState, HitRecord } from '../step.ts'
import { holds, jumpySchedules, KIND_NAMES, play, type Request } from './arbitraries.suite.ts'
import type { HitLog } from './hit-log.ts'
import { NEVER, Outcome } from './outcome.ts'

type Numbers = readonly [at: number, first: number, second: number]
const UNUSED: Numbers = [NEVER, 0, 0]

describe.each(KIND_NAMES)('%s', (kind) => {
  it('is worth no more than an unused counter from expiresAtMs on', () => {
    holds(kind, jumpySchedules, 80, (limit, schedule) => {
      for (const request of play(limit, schedule)) expectForgettable(limit, request)
    })
  })
})

/** expectForgettable compares a counter with an unused one, at its expiry and later, for costs of every sort. */
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
      expect(verdictOf(kept, limit)).toEqual(verdictOf(unused, limit))
      expect(kept.expiresAtMs).toBe(unused.expiresAtMs)
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
