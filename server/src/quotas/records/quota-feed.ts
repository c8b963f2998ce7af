import { QUOTA_TABLES, tableOf } from '../../records/tables.ts'
import { Backoff } from '../database/backoff.ts'
import type { QuotaChange, QuotaSnapshot, QuotaTable } from '../model.ts'
import type { RecordStore } from './record-store.ts'

/** How current the records of a feed are. */
export type FeedState =
  /** Nothing was ever read. */
  | { readonly kind: 'empty'; readonly sinceMs: number; readonly reason: string }
  | { readonly kind: 'fresh' }
  /** The database does not answer: what was last known stays. */
  | { readonly kind: 'stale'; readonly sinceMs: number; readonly reason: string }

export interface FeedListener {
  /** Everything is as the snapshot says. */
  replaced(snapshot: QuotaSnapshot): void
  changed(changes: readonly QuotaChange[]): void
  stateChanged?(state: FeedState): void
}

/**
 * A QuotaFeed holds everything that decisions depend on, and keeps it as the store has it. It never throws: without the
 * store it continues with what it has, and recovers.
 */
export class QuotaFeed {
  readonly #store: RecordStore
  readonly #listener: FeedListener
  readonly #now: () => number
  readonly #backoff = new Backoff(200, 10_000)
  readonly #tables = new Map<QuotaTable, Map<string, unknown>>()
  #revision: number | undefined
  #state: FeedState
  #unfollow: (() => void) | undefined
  #isReading = false
  #isDue = false
  #retry: NodeJS.Timeout | undefined
  #early: QuotaChange[] = []

  constructor(store: RecordStore, listener: FeedListener, now: () => number = Date.now) {
    this.#store = store
    this.#listener = listener
    this.#now = now
    this.#state = { kind: 'empty', sinceMs: now(), reason: 'nothing was read yet' }
  }

  get state(): FeedState {
    return this.#state
  }

  get revision(): number | undefined {
    return this.#revision
  }

  /** Everything that was read; undefined before the first read. */
  get current(): QuotaSnapshot | undefined {
    if (this.#revision === undefined) return undefined
    const tables = Object.fromEntries(QUOTA_TABLES.map((table) => [table, [...this.#tableOf(table).values()]]))
    return { ...tables, revision: this.#revision } as unknown as QuotaSnapshot
  }

  /** How many records of each table were read. */
  get counts(): Readonly<Record<QuotaTable, number>> {
    const counts = QUOTA_TABLES.map((table) => [table, this.#tableOf(table).size])
    return Object.fromEntries(counts) as Record<QuotaTable, number>
  }

  start(): void {
    this.#unfollow ??= this.#store.follow(
      (changes) => this.#changed(changes),
      () => this.#readAll(),
      (error) => this.#fault(error),
    )
  }

  stop(): void {
    this.#unfollow?.()
    this.#unfollow = undefined
    clearTimeout(this.#retry)
  }

  #readAll(): void {
    this.#isDue = true
    if (!this.#isReading) void this.#readWhileDue()
  }

  async #readWhileDue(): Promise<void> {
    this.#isReading = true
    clearTimeout(this.#retry)
    while (this.#isDue && this.#unfollow !== undefined) {
      this.#isDue = false
      try {
        this.#replace(await this.#store.snapshot())
      } catch (error) {
        this.#becomeStale(error as Error)
        this.#retry = setTimeout(() => this.#readAll(), this.#backoff.nextMs()).unref()
      }
    }
    this.#isReading = false
  }

  #replace(snapshot: QuotaSnapshot): void {
    if (this.#unfollow === undefined) return
    this.#backoff.reset()
    for (const table of QUOTA_TABLES) {
      const { idOf } = tableOf(table)
      this.#tables.set(table, new Map(snapshot[table].map((record) => [idOf(record), record])))
    }
    this.#revision = snapshot.revision
    notify(() => this.#listener.replaced(snapshot))
    this.#become({ kind: 'fresh' })
    const early = this.#early
    this.#early = []
    this.#apply(early)
  }

  /** What comes while everything is read may be newer than that. */
  #changed(changes: readonly QuotaChange[]): void {
    if (this.#isReading || this.#revision === undefined) this.#early.push(...changes)
    else this.#apply(changes)
  }

  #apply(changes: readonly QuotaChange[]): void {
    const known = this.#revision ?? 0
    const news = changes.filter(({ revision }) => revision > known)
    if (news.length === 0) return
    for (const { table, id, record } of news) {
      if (record === undefined) this.#tableOf(table).delete(id)
      else this.#tableOf(table).set(id, record)
    }
    this.#revision = news[news.length - 1].revision
    notify(() => this.#listener.changed(news))
  }

  #tableOf(table: QuotaTable): Map<string, unknown> {
    const found = this.#tables.get(table) ?? new Map<string, unknown>()
    this.#tables.set(table, found)
    return found
  }

  #fault(error: Error | undefined): void {
    if (error !== undefined) this.#becomeStale(error)
    else if (this.#revision !== undefined) this.#become({ kind: 'fresh' })
  }

  #becomeStale({ message }: Error): void {
    const sinceMs = this.#state.kind === 'fresh' ? this.#now() : this.#state.sinceMs
    this.#become({ kind: this.#revision === undefined ? 'empty' : 'stale', sinceMs, reason: message })
  }

  #become(state: FeedState): void {
    const isNews = state.kind !== this.#state.kind || ('reason' in state && reasonOf(this.#state) !== state.reason)
    this.#state = state
    if (isNews) notify(() => this.#listener.stateChanged?.(state))
  }
}

const reasonOf = (state: FeedState): string | undefined => ('reason' in state ? state.reason : undefined)

/** Ignores errors of a listener: the feed continues. */
function notify(call: () => void): void {
  try {
    call()
  } catch {}
}
