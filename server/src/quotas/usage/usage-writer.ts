import { randomUUID } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import type { UsageBatch, UsageCount } from '../tables/usage-store.ts'
import type { UsageNews } from './usage-news.ts'

/** Where a writer puts batches: each is counted once, however often it is sent. */
export interface UsageTarget {
  add(batch: UsageBatch): Promise<boolean>
}

/** What a writer reports: once that the database takes nothing, and then that it does again. */
export interface UsageWriterEvents {
  failed(error: unknown): void
  recovered(): void
  /** Counts are dropped because too many wait; reported when that begins. */
  dropping(): void
}

export interface UsageWriterOptions {
  readonly events: UsageWriterEvents
  readonly nowMs?: () => number
  /** Everything that was counted before was taken. Default: nothing else comes. */
  readonly takenUntilMs?: () => number
  /** Rows that may wait. Default: 200,000, of about 300 bytes each. */
  readonly maxRows?: number
}

const MAX_ROWS = 200_000
/** A statement has seconds. */
const ROWS_AT_ONCE = 5_000
const HOUR_MS = 3_600_000
/** A batch that an available database refuses would block all others for ever. */
const MAX_REFUSALS = 10

interface Row {
  readonly customerId: string
  readonly keyId: string | undefined
  readonly limit: string
  readonly atMs: number
  /** When the first of its counts came. */
  readonly sinceMs: number
  allowed: number
  refused: number
  cost: number
}

/**
 * Adds up what processes report, by caller, limit and hour, and writes it in batches, in the background. While the
 * database is unavailable, counts add up in memory; beyond a bound the oldest rows go, and it counts what went with
 * them.
 */
export class UsageWriter {
  readonly #target: UsageTarget
  readonly #events: UsageWriterEvents
  readonly #nowMs: () => number
  readonly #takenUntilMs: () => number
  readonly #maxRows: number
  readonly #node = randomUUID()
  #batches = 0
  /** In the order of their first counts. */
  #open = new Map<string, Row>()
  /** What is being written. A batch that may have arrived is never changed: it is sent again as it was. */
  #closed: { readonly batch: UsageBatch; readonly sinceMs: number }[] = []
  /** Everything that was counted before is in what is being written, or was written. */
  #closedUntilMs: number
  #writtenUntilMs: number
  #refusals = 0
  #writing: Promise<void> | undefined
  #isFailing = false
  #isDropping = false
  #written = 0
  #dropped = 0

  constructor(target: UsageTarget, options: UsageWriterOptions) {
    const { events, nowMs = Date.now, takenUntilMs = nowMs, maxRows = MAX_ROWS } = options
    this.#target = target
    this.#events = events
    this.#nowMs = nowMs
    this.#takenUntilMs = takenUntilMs
    this.#maxRows = maxRows
    this.#closedUntilMs = takenUntilMs()
    this.#writtenUntilMs = this.#closedUntilMs
  }

  /** Everything that was counted before is written, but for what was dropped. */
  get untilMs(): number {
    return this.#writtenUntilMs
  }

  /** Rows that were written, requests that were dropped, and how long the oldest row has been waiting. */
  get figures(): {
    readonly written: number
    readonly dropped: number
    readonly waiting: number
    readonly ageMs: number
  } {
    const oldestMs = this.#closed[0]?.sinceMs ?? this.#open.values().next().value?.sinceMs
    const waiting = this.#closed.reduce((sum, { batch }) => sum + batch.counts.length, this.#open.size)
    const ageMs = oldestMs === undefined ? 0 : Math.max(0, this.#nowMs() - oldestMs)
    return { written: this.#written, dropped: this.#dropped, waiting, ageMs }
  }

  /** Adds counts that wait to be written. */
  take({ atMs, deltas }: UsageNews): void {
    const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS
    for (const { customerId, keyId, limit, allowed, refused, cost } of deltas) {
      const key = JSON.stringify([customerId, keyId, limit, hourMs])
      const row = this.#open.get(key) ?? this.#newRow(key, { customerId, keyId, limit, atMs: hourMs })
      row.allowed += allowed
      row.refused += refused
      row.cost += cost
    }
  }

  /** Yields what was not written yet, as far as this node knows. */
  *waiting(): Iterable<UsageCount> {
    for (const { batch } of this.#closed) yield* batch.counts
    for (const row of this.#open.values()) yield countOf(row)
  }

  /** Writes what is there. Never rejects: what could not be written is tried again by the next call. */
  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  /** Writes the rest, and returns how many rows could not be written in one attempt. */
  async finish(): Promise<number> {
    await this.#writing
    await this.write()
    return this.figures.waiting
  }

  async #writeAll(): Promise<void> {
    if (this.#closed.length === 0) this.#close()
    try {
      for (let next = this.#closed[0]; next !== undefined; next = this.#closed[0]) {
        await this.#target.add(next.batch)
        this.#written += next.batch.counts.length
        this.#refusals = 0
        this.#closed.shift()
      }
      this.#writtenUntilMs = this.#closedUntilMs
      if (this.#isFailing) this.#events.recovered()
      this.#isFailing = false
      this.#isDropping = false
    } catch (error) {
      if (!this.#isFailing) this.#events.failed(error)
      this.#isFailing = true
      if (!isAway(error) && ++this.#refusals >= MAX_REFUSALS) this.#giveUp()
    }
  }

  #giveUp(): void {
    this.#refusals = 0
    this.#drop(this.#closed.shift()?.batch.counts ?? [])
  }

  /** #close makes batches of what is open. */
  #close(): void {
    this.#closedUntilMs = this.#takenUntilMs()
    const rows = [...this.#open.values()]
    this.#open = new Map()
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const some = rows.slice(at, at + ROWS_AT_ONCE)
      const batch = { node: this.#node, id: String(++this.#batches), counts: some.map(countOf) }
      this.#closed.push({ batch, sinceMs: some[0].sinceMs })
    }
  }

  #newRow(key: string, about: Pick<Row, 'customerId' | 'keyId' | 'limit' | 'atMs'>): Row {
    if (this.#open.size >= this.#maxRows) this.#dropOldest()
    const row = { ...about, sinceMs: this.#nowMs(), allowed: 0, refused: 0, cost: 0 }
    this.#open.set(key, row)
    return row
  }

  #dropOldest(): void {
    const [oldest] = this.#open
    this.#open.delete(oldest[0])
    this.#drop([oldest[1]])
  }

  #drop(counts: readonly Pick<UsageCount, 'allowed' | 'refused'>[]): void {
    for (const { allowed, refused } of counts) this.#dropped += allowed + refused
    if (!this.#isDropping) this.#events.dropping()
    this.#isDropping = true
  }
}

function countOf({ customerId, keyId, limit, atMs, allowed, refused, cost }: Row): UsageCount {
  return { customerId, keyId, limit: storable(limit), atMs, allowed, refused, cost: bounded(cost) }
}

/** Escapes a text so that PostgreSQL can keep it: names in rule files may hold anything. */
function storable(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\uFFFD')).toString()
}

function bounded(count: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(count, Number.MAX_SAFE_INTEGER))
}

function isAway(error: unknown): boolean {
  return error instanceof SluiceError && error.code === 'DATABASE_UNAVAILABLE'
}
