import type { CounterRenewals, RenewalResults, WantedRenewal } from '../renewing/counter-renewals.ts'
import type { Counter, LogRecord } from './counter.ts'

/** Gives back the places of permits in one counter. */
export function releaseIn(counter: Counter, id: string): void {
  const kept = counter.records.filter((record) => record.id !== id)
  if (kept.length === counter.records.length) return
  counter.records = kept
  counter.isDirty = true
}

/** Renews permits of one counter. What is held counts before what is taken again. */
export function renewIn(
  counter: Counter,
  { limit, wanted }: Pick<CounterRenewals, 'limit' | 'wanted'>,
  nowMs: number,
  results: Pick<RenewalResults, 'set'>,
): void {
  const held = new Map<string, number>()
  const others: LogRecord[] = []
  let places = 0
  for (const { timeMs, hits, id } of counter.records) {
    if (timeMs + limit.windowMs <= nowMs) continue
    places += hits
    if (wanted.has(id)) held.set(id, (held.get(id) ?? 0) + hits)
    else others.push({ timeMs: Math.min(timeMs, nowMs), hits, id })
  }
  for (const each of wanted.values()) {
    const id = String(each.id)
    if (held.has(id)) continue
    if (each.places === 0) results.set(each, 'lost')
    else {
      places += each.places
      results.set(each, places <= limit.max ? 'retaken' : 'overrun')
      held.set(id, each.places)
    }
  }
  if (held.size === 0) return
  counter.records = [...others, ...Array.from(held, ([id, hits]): LogRecord => ({ timeMs: nowMs, hits, id }))]
  counter.isDirty = true
  counter.keepUntil(limit, nowMs + limit.windowMs)
}

/** The results of one counter, until it is known that they are stored. */
export class PendingResults {
  readonly #list: [WantedRenewal, Parameters<RenewalResults['set']>[1]][] = []

  set(...result: Parameters<RenewalResults['set']>): void {
    this.#list.push(result)
  }

  moveTo(results: RenewalResults): void {
    for (const result of this.#list) results.set(...result)
  }
}
