import { type AuditRow, COLUMNS } from '../audit/audit-entry.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { Backoff } from '../database/backoff.ts'
import type { Database } from '../database/database.ts'
import type { Leases } from '../tables/leases.ts'
import type { AuditSink } from './audit-sink.ts'

/** What a SinkRunner reports: once that it cannot go on, and then that it can again. */
export interface SinkEvents {
  failed(reason: string): void
  recovered(): void
  /** The sink has entries that the database does not: an older database was restored. */
  ahead(has: number, head: number): void
}

export interface SinkRunnerParts {
  readonly db: Database
  readonly audit: Pick<AuditLog, 'confirm'>
  readonly leases: Leases
  readonly events: SinkEvents
  readonly lookEveryMs?: number
}

/** Entries of one write. Each may have 2 MiB: rules before and after. */
const BATCH_ENTRIES = 50
const LOOK_EVERY_MS = 1_000
/** Longer than a write may take: two nodes at the same time would write twice. */
const LEASE_MS = 60_000

/**
 * A SinkRunner brings every entry of the audit log to a sink, in order. An entry waits in the database until the sink
 * has confirmed it. What may have arrived is asked of the sink, or else sent again.
 */
export class SinkRunner {
  readonly #sink: AuditSink
  readonly #parts: SinkRunnerParts
  readonly #backoff = new Backoff(500, 30_000)
  #position: number | undefined
  #timer: NodeJS.Timeout | undefined
  #turn: Promise<void> | undefined
  #isFailing = false
  #isAhead = false
  #isClosed = false
  #lag = 0
  #sent = 0

  constructor(sink: AuditSink, parts: SinkRunnerParts) {
    this.#sink = sink
    this.#parts = parts
  }

  /** `file` or `kafka`. */
  get kind(): string {
    return this.#sink.kind
  }

  /** How many entries wait for the sink, and how many went there from this node. */
  get figures(): { readonly lag: number; readonly sent: number } {
    return { lag: this.#lag, sent: this.#sent }
  }

  start(): void {
    void this.#run()
  }

  /** Writes pending entries. Never rejects. */
  turn(): Promise<void> {
    this.#turn ??= this.#try().finally(() => {
      this.#turn = undefined
    })
    return this.#turn
  }

  /** Writes pending entries once, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#turn
    if (!this.#isFailing) await this.turn()
    await this.#sink.close().catch(() => {})
    if (this.#sink.isShared) await this.#parts.leases.giveBack(this.#lease).catch(() => {})
  }

  get #lease(): string {
    return `audit sink ${this.#sink.name}`
  }

  async #run(): Promise<void> {
    await this.turn()
    if (this.#isClosed) return
    const waitMs = this.#isFailing ? this.#backoff.nextMs() : (this.#parts.lookEveryMs ?? LOOK_EVERY_MS)
    this.#timer = setTimeout(() => void this.#run(), waitMs).unref()
  }

  async #try(): Promise<void> {
    try {
      await this.#writeAll()
      this.#backoff.reset()
      if (this.#isFailing) this.#parts.events.recovered()
      this.#isFailing = false
    } catch (error) {
      this.#position = undefined
      if (!this.#isFailing) this.#parts.events.failed(error instanceof Error ? error.message : String(error))
      this.#isFailing = true
    }
  }

  async #writeAll(): Promise<void> {
    const { isShared } = this.#sink
    for (;;) {
      if (isShared && !(await this.#parts.leases.take(this.#lease, LEASE_MS))) {
        // Another node does it. What it will have done when this one takes over is unknown here.
        this.#position = undefined
        this.#lag = 0
        return
      }
      this.#position ??= await this.#find()
      const rows = await this.#next(this.#position)
      if (rows.length === 0) return
      await this.#sink.write(rows)
      this.#position = rows[rows.length - 1].sequence
      this.#sent += rows.length
      await this.#parts.audit.confirm(this.#sink.name, this.#position)
    }
  }

  /** #find asks the sink how far it is, or else the database. */
  async #find(): Promise<number> {
    const has = await this.#sink.open()
    const [row] = await this.#parts.db.query<{ sequence: number }>(
      'SELECT sequence FROM sluice.sink_positions WHERE sink = $1',
      [this.#sink.name],
    )
    return has ?? row?.sequence ?? 0
  }

  async #next(after: number): Promise<readonly AuditRow[]> {
    const { db, events } = this.#parts
    const [head] = await db.query<{ sequence: number }>('SELECT sequence FROM sluice.audit_head')
    const last = head?.sequence ?? 0
    this.#lag = Math.max(0, last - after)
    if (after > last && !this.#isAhead) events.ahead(after, last)
    this.#isAhead = after > last
    if (this.#lag === 0) return []
    return db.query<AuditRow>(
      `SELECT ${COLUMNS} FROM sluice.audit WHERE sequence > $1 ORDER BY sequence LIMIT $2::int`,
      [after, BATCH_ENTRIES],
    )
  }
}
