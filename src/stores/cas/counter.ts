import type { HitLog } from '../../core/algorithms/hit-log.ts'
import { NEVER, Outcome } from '../../core/algorithms/outcome.ts'
import type { Limit } from '../../core/limit.ts'
import { forcedLimit } from '../lending/forced-limit.ts'
import { type BookedCounter, SliceBook } from '../lending/slice-book.ts'

/** Hits of one time, or the places of one permit. `id` is empty for hits. */
export interface LogRecord {
  readonly timeMs: number
  readonly hits: number
  readonly id: string
}

/** One counter as a value in memory: charges are evaluated on it, and it is stored as text. */
export class Counter implements HitLog {
  at = NEVER
  first = 0
  second = 0
  records: readonly LogRecord[] = NO_RECORDS
  /** What is lent of it. */
  book: SliceBook | undefined
  /** From then on it is worth no more than none at all. */
  expiresAtMs = NEVER
  /** True when it has to be written: something was charged, given back or lent. */
  isDirty = false
  #position = -1

  get isEmpty(): boolean {
    return this.at === NEVER && this.records.length === 0 && this.book === undefined
  }

  clone(): Counter {
    const copy = new Counter()
    copy.at = this.at
    copy.first = this.first
    copy.second = this.second
    copy.records = this.records
    copy.book = this.book && SliceBook.of(this.book.account)
    copy.expiresAtMs = this.expiresAtMs
    return copy
  }

  /** Evaluates a cost without charging it. */
  look(limit: Limit, nowMs: number, cost: number, out: Outcome): void {
    const { evaluateLog, evaluateNumbers } = limit.algorithmRecord
    if (limit.isLog) evaluateLog(this, limit, nowMs, cost, out)
    else evaluateNumbers(this.at, this.first, this.second, limit, nowMs, cost, out)
  }

  /**
   * Evaluates a cost and keeps what follows; `id` is that of the permits which are taken. A refusal that charges nothing
   * is kept for evaluations to come, but is nothing to write: without it, all of them answer the same.
   */
  charge(limit: Limit, nowMs: number, cost: number, id: string, out: Outcome): void {
    const wasEmpty = this.isEmpty
    this.look(limit, nowMs, cost, out)
    if (limit.isLog) this.records = applied(this.records, out, id)
    else if (out.expiresAtMs > nowMs) {
      this.at = out.at
      this.first = out.first
      this.second = out.second
    } else this.clearState()
    this.keepUntil(limit, out.expiresAtMs)
    if ((out.allowed || limit.countDenied) && !(wasEmpty && this.isEmpty)) this.isDirty = true
  }

  clearState(): void {
    this.at = NEVER
    this.first = 0
    this.second = 0
    this.records = NO_RECORDS
  }

  /** Forgets all of it, and what is lent. */
  clear(): void {
    this.clearState()
    this.book = undefined
    this.expiresAtMs = NEVER
    this.isDirty = true
  }

  /** Sets when it expires: not before what is lent has come back, and has been counted for a window. */
  keepUntil(limit: Limit, expiresAtMs: number): void {
    if (this.book?.isEmpty) this.book = undefined
    const lentUntilMs = this.book === undefined ? NEVER : this.book.endsAtMs + limit.windowMs
    this.expiresAtMs = Math.max(expiresAtMs, lentUntilMs)
  }

  /** Returns the counter as its slice book sees it. */
  booked(limit: Limit): BookedCounter {
    return {
      look: (cost, nowMs) => {
        this.look(limit, nowMs, cost, OUT)
        const { remaining, resetAfterMs, retryAfterMs } = OUT
        return { remaining, resetAfterMs, retryAfterMs }
      },
      charge: (cost, nowMs) => {
        if (limit.capacity > 0) this.charge(forcedLimit(limit), nowMs, cost, '', OUT)
      },
    }
  }

  get totalHits(): number {
    let hits = 0
    for (const record of this.records) hits += record.hits
    return hits
  }

  get newestMs(): number {
    return this.records[this.records.length - 1].timeMs
  }

  rewind(): void {
    this.#position = -1
  }

  next(): boolean {
    this.#position++
    return this.#position < this.records.length
  }

  get timeMs(): number {
    return this.records[this.#position].timeMs
  }

  get hits(): number {
    return this.records[this.#position].hits
  }
}

const NO_RECORDS: readonly LogRecord[] = Object.freeze([])
const OUT = new Outcome()

/** Makes the changes that an Outcome describes. Permits are never popped. */
function applied(records: readonly LogRecord[], out: Outcome, id: string): readonly LogRecord[] {
  const kept: LogRecord[] = []
  for (let i = out.dropOldest; i < records.length; i++) {
    const record = records[i]
    kept.push(record.timeMs <= out.latestMs ? record : { ...record, timeMs: out.latestMs })
  }
  for (let left = out.pop; left > 0; ) {
    const newest = kept.pop() as LogRecord
    if (newest.hits > left) kept.push({ ...newest, hits: newest.hits - left })
    left -= newest.hits
  }
  if (out.push === 0) return kept
  const newest = kept.at(-1)
  if (newest?.timeMs === out.latestMs && newest.id === id && id === '') {
    kept[kept.length - 1] = { ...newest, hits: newest.hits + out.push }
  } else kept.push({ timeMs: out.latestMs, hits: out.push, id })
  return kept
}
