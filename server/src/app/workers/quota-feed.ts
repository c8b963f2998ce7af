import { setImmediate as turn } from 'node:timers/promises'
import type { QuotaSink } from '../../quotas/book/live-quotas.ts'
import { type QuotaPart, quotaParts, recordId, slimChange, slimRecord } from '../../quotas/book/quota-parts.ts'
import type { QuotaChange, QuotaSnapshot, QuotaTable } from '../../quotas/model.ts'
import { QUOTA_TABLES } from '../../records/tables.ts'

/** What a QuotaFeed sends to workers. */
export type QuotaNews =
  /** There is a new set, in parts that the worker requests. */
  | { readonly type: 'quotas'; readonly version: number; readonly keySecret: string }
  | { readonly type: 'quota-part'; readonly version: number; readonly part: QuotaPart }
  /** The last part: what changed since, and the revision after that. */
  | {
      readonly type: 'quota-end'
      readonly version: number
      readonly changes: readonly QuotaChange[]
      readonly revision: number
    }
  | { readonly type: 'quota-changes'; readonly changes: readonly QuotaChange[] }

type Tables = Record<QuotaTable, Map<string, unknown>>

/** After this many changes, a worker that starts gets a new set that includes them. */
const MAX_CHANGES = 1_000

/**
 * What the primary has for its workers: everything, in parts that each requests at its pace, and every change
 * immediately. Changes carry their revision, so that a duplicate does no harm.
 */
export class QuotaFeed implements QuotaSink {
  readonly #broadcast: (news: QuotaNews) => void
  readonly #keySecret: () => string
  #tables: Tables = emptyTables()
  #parts: readonly QuotaPart[] = []
  #changes: QuotaChange[] = []
  #revision = 0
  #version = 0
  #making: QuotaChange[] | undefined

  constructor(broadcast: (news: QuotaNews) => void, keySecret: () => string = () => '') {
    this.#broadcast = broadcast
    this.#keySecret = keySecret
  }

  async load(snapshot: QuotaSnapshot): Promise<void> {
    if (this.#version > 0 && snapshot.revision === this.#revision) return
    const making: QuotaChange[] = []
    this.#making = making
    const tables = emptyTables()
    for (const { table, records } of quotaParts(snapshot)) {
      for (const record of records) tables[table].set(recordId(table, record), slimRecord(table, record))
      await turn()
      if (this.#making !== making) return
    }
    this.#making = undefined
    this.#tables = tables
    this.#revision = snapshot.revision
    for (const change of making) if (change.revision > snapshot.revision) this.#keep(change)
    this.#cut()
    this.#broadcast(this.#news())
  }

  apply(changes: readonly QuotaChange[]): void {
    const slim = changes.map(slimChange)
    this.#making?.push(...slim)
    for (const change of slim) this.#keep(change)
    this.#changes.push(...slim)
    this.#broadcast({ type: 'quota-changes', changes: slim })
  }

  /** Returns the message for a worker that starts. */
  announce(): Extract<QuotaNews, { type: 'quotas' }> {
    if (this.#changes.length > MAX_CHANGES) this.#cut()
    return this.#news()
  }

  #news(): Extract<QuotaNews, { type: 'quotas' }> {
    return { type: 'quotas', version: this.#version, keySecret: this.#keySecret() }
  }

  /** Returns the answer to a worker that asks for a part: that part, or the announcement of a newer set. */
  answer(version: number, at: number): QuotaNews {
    if (version !== this.#version) return this.announce()
    const part = this.#parts[at]
    if (part !== undefined) return { type: 'quota-part', version, part }
    return { type: 'quota-end', version, changes: this.#changes, revision: this.#revision }
  }

  #keep({ table, id, record, revision }: QuotaChange): void {
    if (record === undefined) this.#tables[table].delete(id)
    else this.#tables[table].set(id, record)
    this.#revision = Math.max(this.#revision, revision)
  }

  /** Divides the current records into parts. */
  #cut(): void {
    const lists = Object.fromEntries(QUOTA_TABLES.map((table) => [table, [...this.#tables[table].values()]]))
    this.#parts = [...quotaParts(lists as unknown as QuotaSnapshot)]
    this.#changes = []
    this.#version++
  }
}

function emptyTables(): Tables {
  return Object.fromEntries(QUOTA_TABLES.map((table) => [table, new Map()])) as unknown as Tables
}
