import type { HitLog } from './algorithms/hit-log.ts'
import { NEVER, Outcome } from './algorithms/outcome.ts'
import { type Verdict, verdictOf } from './decision.ts'
import type { Limit } from './limit.ts'

/** The whole state of one counter, as a value. */
export type CounterState =
  | { readonly at: number; readonly first: number; readonly second: number }
  | { readonly records: readonly HitRecord[] }

/** [timeMs, hits]. */
export type HitRecord = readonly [timeMs: number, hits: number]

/** What one request did to one counter: the verdict, and the state to keep (undefined: nothing to keep). */
export interface Step {
  readonly verdict: Verdict
  readonly state: CounterState | undefined
  /** How much of a refused cost was charged neither (countDenied, late charges). */
  readonly dropped: number
}

/**
 * Returns the algorithms in their plainest form: (state | none, limit, now, cost) → {verdict, state}, values in and
 * values out. Stores run the same functions without the objects; tests and simulations run this.
 */
export function step(state: CounterState | undefined, limit: Limit, nowMs: number, cost: number): Step {
  const out = new Outcome()
  if (limit.isLog) {
    const records = state !== undefined && 'records' in state ? state.records : []
    limit.algorithmRecord.evaluateLog(new RecordLog(records), limit, nowMs, cost, out)
    const next = { records: applyToRecords(records, out) }
    return { verdict: verdictOf(out, limit), state: next.records.length > 0 ? next : undefined, dropped: out.dropped }
  }
  const { at, first, second } = state !== undefined && 'at' in state ? state : { at: NEVER, first: 0, second: 0 }
  limit.algorithmRecord.evaluateNumbers(at, first, second, limit, nowMs, cost, out)
  const next = { at: out.at, first: out.first, second: out.second }
  return { verdict: verdictOf(out, limit), state: out.expiresAtMs > nowMs ? next : undefined, dropped: out.dropped }
}

/** Makes the changes that an Outcome describes. */
function applyToRecords(records: readonly HitRecord[], out: Outcome): HitRecord[] {
  const kept = records.slice(out.dropOldest).map(([timeMs, hits]): HitRecord => [Math.min(timeMs, out.latestMs), hits])
  for (let left = out.pop; left > 0; ) {
    const [timeMs, hits] = kept.pop() as HitRecord
    if (hits > left) kept.push([timeMs, hits - left])
    left -= hits
  }
  if (out.push === 0) return kept
  const newest = kept.at(-1)
  if (newest?.[0] === out.latestMs) kept[kept.length - 1] = [out.latestMs, newest[1] + out.push]
  else kept.push([out.latestMs, out.push])
  return kept
}

class RecordLog implements HitLog {
  readonly totalHits: number
  readonly #records: readonly HitRecord[]
  #position = -1

  constructor(records: readonly HitRecord[]) {
    this.#records = records
    this.totalHits = records.reduce((sum, [, hits]) => sum + hits, 0)
  }

  get newestMs(): number {
    return this.#records.at(-1)?.[0] ?? NEVER
  }

  rewind(): void {
    this.#position = -1
  }

  next(): boolean {
    this.#position++
    return this.#position < this.#records.length
  }

  get timeMs(): number {
    return (this.#records[this.#position] as HitRecord)[0]
  }

  get hits(): number {
    return (this.#records[this.#position] as HitRecord)[1]
  }
}
