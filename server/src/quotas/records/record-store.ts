import { SluiceError } from 'sluice/internal/core/errors'
import type { Row } from '../../records/record-table.ts'
import { QUOTA_TABLES, tableOf } from '../../records/tables.ts'
import type { Actor } from '../audit/actor.ts'
import type { AppendedHead, AuditLog } from '../audit/audit-log.ts'
import { writeCursor } from '../audit/cursor.ts'
import type { Database, ListQuery, Page, Sql } from '../database/database.ts'
import { DatabaseFault } from '../database/database-fault.ts'
import type { QuotaChange, QuotaRecords, QuotaSnapshot, QuotaTable } from '../model.ts'
import { ChangeFollower } from './change-follower.ts'
import { CHANNEL, logSteps, trimChanges } from './change-log.ts'
import { auditOf, type Change, planStep, type Step } from './change-plan.ts'
import { dependentsOf } from './dependents.ts'
import { listSql, pageSize } from './list-sql.ts'
import { selectList, upsertSql } from './record-sql.ts'

export interface RecordStoreOptions {
  readonly now?: () => number
  /** How often followers look for changes without a notice, in case one was lost. */
  readonly refreshEveryMs?: number
}

const AT_ONCE = 5000
const A_MINUTE_MS = 60_000

/** A RecordStore keeps records in a database that has been migrated. */
export class RecordStore {
  readonly #db: Database
  readonly #audit: AuditLog
  readonly #now: () => number
  readonly #refreshEveryMs: number

  constructor(db: Database, audit: AuditLog, { now = Date.now, refreshEveryMs = 30_000 }: RecordStoreOptions = {}) {
    this.#db = db
    this.#audit = audit
    this.#now = now
    this.#refreshEveryMs = refreshEveryMs
  }

  snapshot(): Promise<QuotaSnapshot> {
    const read = async (tx: Sql): Promise<QuotaSnapshot> => {
      const [{ revision }] = await tx.query<{ revision: number }>('SELECT revision FROM sluice.revision')
      const tables: Record<string, unknown> = {}
      for (const table of QUOTA_TABLES) tables[table] = await readAll(tx, table)
      return { ...tables, revision } as QuotaSnapshot
    }
    return this.#db.transaction(read, { snapshot: true, statementTimeoutMs: A_MINUTE_MS })
  }

  async revision(): Promise<number> {
    const [{ revision }] = await this.#db.query<{ revision: number }>('SELECT revision FROM sluice.revision')
    return revision
  }

  follow(
    changed: (changes: readonly QuotaChange[]) => void,
    missed: () => void,
    fault: (error: Error | undefined) => void = () => {},
  ): () => void {
    const follower = new ChangeFollower(this.#db, { changed, missed, fault }, this.#refreshEveryMs)
    return () => follower.stop()
  }

  async get<T extends QuotaTable>(table: T, id: string): Promise<QuotaRecords[T] | undefined> {
    const kept = tableOf(table)
    const [row] = await this.#db.query<Row>(`SELECT ${selectList(kept)} FROM ${kept.table} WHERE id = $1`, [id])
    return row === undefined ? undefined : (kept.toRecord(row) as QuotaRecords[T])
  }

  async put<T extends QuotaTable>(
    table: T,
    record: QuotaRecords[T],
    by: Actor,
    version?: number,
  ): Promise<QuotaRecords[T]> {
    const kept = tableOf(table)
    const [step] = await this.#change([{ table, id: kept.idOf(record), record, version }], by)
    return kept.toRecord(step.after!) as QuotaRecords[T]
  }

  async remove<T extends QuotaTable>(table: T, id: string, by: Actor, version?: number): Promise<void> {
    await this.#change([{ table, id, record: undefined, version }], by)
  }

  async changeAll(changes: readonly Change[], by: Actor): Promise<void> {
    await this.#change(changes, by)
  }

  async list<T extends QuotaTable>(table: T, query: ListQuery): Promise<Page<QuotaRecords[T]>> {
    const kept = tableOf(table)
    const { sql, values } = listSql(kept, query)
    const rows = await this.#db.query<Row>(sql, values)
    const page = rows.slice(0, pageSize(query))
    return {
      items: page.map((row) => kept.toRecord(row) as QuotaRecords[T]),
      next: rows.length > page.length ? writeCursor(kept.table, page[page.length - 1].id as string) : undefined,
    }
  }

  async #change(changes: readonly Change[], by: Actor): Promise<readonly Step[]> {
    let head: AppendedHead | undefined
    const work = async (tx: Sql): Promise<readonly Step[]> => {
      const [{ revision }] = await tx.query<{ revision: number }>(
        'UPDATE sluice.revision SET revision = revision + 1 RETURNING revision',
      )
      const steps = await this.#plan(tx, [...(await dependentsOf(tx, changes)), ...changes], revision)
      // Nothing was changed: the revision is the only trace, and does no harm.
      if (steps.length === 0) return steps
      await carryOut(tx, steps)
      await logSteps(tx, steps, revision)
      head = await this.#audit.append(
        tx,
        steps.map((step) => auditOf(step, by.inForceOn)),
        by,
      )
      if (revision % TRIM_EVERY === 0) await trimChanges(tx)
      await tx.query('SELECT pg_notify($1, $2)', [CHANNEL, noticeOf(steps, revision)])
      return steps
    }
    try {
      const steps = await this.#db.transaction(work, { statementTimeoutMs: A_MINUTE_MS })
      if (head !== undefined) this.#audit.committed(head)
      return steps
    } catch (error) {
      throw whatIsWrong(error, changes)
    }
  }

  async #plan(tx: Sql, changes: readonly Change[], revision: number): Promise<readonly Step[]> {
    const nowMs = this.#now()
    const known = new Map<string, Row | undefined>()
    for (const table of new Set(changes.map((change) => change.table))) {
      const ids = changes.filter((change) => change.table === table).map(({ id }) => id)
      for (const row of await readSome(tx, table, ids)) known.set(`${table}/${row.id}`, row)
    }
    return changes.flatMap((change) => {
      const name = `${change.table}/${change.id}`
      const step = planStep(change, known.get(name), revision, nowMs)
      known.set(name, step?.after)
      return step ?? []
    })
  }
}

const TRIM_EVERY = 100

const noticeOf = (steps: readonly Step[], revision: number): string => {
  const [{ table, id }] = steps
  // A notice has less than 8000 bytes; the revision is all that followers need.
  return steps.length === 1 && id.length <= 500 ? `${revision} ${table} ${id}` : `${revision}`
}

async function readSome(tx: Sql, table: QuotaTable, ids: readonly string[]): Promise<readonly Row[]> {
  const kept = tableOf(table)
  return tx.query<Row>(`SELECT ${selectList(kept)} FROM ${kept.table} WHERE id = ANY($1::text[])`, [ids])
}

/** Reads a table in parts, so that neither side holds it twice. */
async function readAll(tx: Sql, table: QuotaTable): Promise<readonly unknown[]> {
  const kept = tableOf(table)
  const sql = `SELECT ${selectList(kept)} FROM ${kept.table} WHERE id > $1 ORDER BY id LIMIT ${AT_ONCE}`
  const records: unknown[] = []
  for (let after = ''; ; ) {
    const rows = await tx.query<Row>(sql, [after])
    for (const row of rows) records.push(kept.toRecord(row))
    if (rows.length < AT_ONCE) return records
    after = rows[rows.length - 1].id as string
  }
}

/** Writes the last state of each record. Removals go first: a removed record may be in the way of a new one. */
async function carryOut(tx: Sql, steps: readonly Step[]): Promise<void> {
  const last = new Map(steps.map((step) => [`${step.table}/${step.id}`, step]))
  for (const table of new Set(steps.map((step) => step.table))) {
    const kept = tableOf(table)
    const of = [...last.values()].filter((step) => step.table === table)
    const gone = of.filter(({ after }) => after === undefined).map(({ id }) => id)
    const put = of.flatMap(({ after }) => after ?? [])
    if (gone.length > 0) await tx.query(`DELETE FROM ${kept.table} WHERE id = ANY($1::text[])`, [gone])
    for (let at = 0; at < put.length; at += AT_ONCE) {
      await tx.query(upsertSql(kept), [JSON.stringify(put.slice(at, at + AT_ONCE))])
    }
  }
}

/** Returns an error with our code for what the database refused. */
function whatIsWrong(error: unknown, changes: readonly Change[]): unknown {
  if (!(error instanceof DatabaseFault)) return error
  const where = changes.length === 1 ? `${changes[0].table}/${changes[0].id}` : `${changes.length} changes`
  const { sqlState, constraint = 'a constraint' } = error
  if (sqlState === '23505') return new SluiceError('RECORD_EXISTS', where, `${constraint} holds another`)
  if (sqlState === '23503') return new SluiceError('REFERENCE_BROKEN', where, `${constraint} does not hold`)
  if (/^(22|23)/.test(sqlState)) return new SluiceError('RECORD_INVALID', where, error.detail)
  return error
}
