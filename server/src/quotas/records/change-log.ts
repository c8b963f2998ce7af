import type { Row } from '../../records/record-table.ts'
import { tableOf } from '../../records/tables.ts'
import type { Sql } from '../database/database.ts'
import type { QuotaChange, QuotaTable } from '../model.ts'
import type { Step } from './change-plan.ts'

/** The channel on which changes are announced. */
export const CHANNEL = 'sluice_changes'

/** How many revisions the log reaches back; a node that is further behind reads everything. */
export const KEPT_REVISIONS = 10_000

/** How many changes a follower reads at most: more than that are read faster with everything else. */
const MOST_CHANGES = 20_000

/** Notes what was changed, for followers. */
export async function logSteps(tx: Sql, steps: readonly Step[], revision: number): Promise<void> {
  const rows = steps.map(({ table, id, after }, ordinal) => ({ ordinal, table_name: table, id, record: after ?? null }))
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    await tx.query(INSERT, [revision, JSON.stringify(rows.slice(at, at + AT_ONCE))])
  }
}

const AT_ONCE = 5000

const INSERT = `INSERT INTO sluice.changes (revision, ordinal, table_name, id, record)
     SELECT $1::int8, ordinal, table_name, id, nullif(record, 'null'::jsonb)
     FROM jsonb_to_recordset($2::jsonb) AS r (ordinal int, table_name text, id text, record jsonb)`

export async function trimChanges(tx: Sql): Promise<void> {
  await tx.query('DELETE FROM sluice.changes WHERE revision <= (SELECT revision FROM sluice.revision) - $1::int8', [
    KEPT_REVISIONS,
  ])
}

/** What there is after a revision; `changes` is undefined when that is not known any more. */
export interface News {
  readonly revision: number
  readonly changes: readonly QuotaChange[] | undefined
}

/** Returns what was changed after a revision; without one, only where the log is. */
export async function readNews(sql: Sql, after: number | undefined): Promise<News> {
  const [{ revision }] = await sql.query<{ revision: number }>('SELECT revision FROM sluice.revision')
  if (after === undefined || after === revision) return { revision, changes: [] }
  // The database is older than what this node has read: it was restored from a backup.
  if (after > revision || revision - after >= KEPT_REVISIONS) return { revision, changes: undefined }
  const rows = await sql.query<{ revision: number; table_name: QuotaTable; id: string; record: Row | null }>(
    `SELECT revision, table_name, id, record FROM sluice.changes
     WHERE revision > $1::int8 AND revision <= $2::int8 ORDER BY revision, ordinal LIMIT ${MOST_CHANGES + 1}`,
    [after, revision],
  )
  if (rows.length > MOST_CHANGES) return { revision, changes: undefined }
  return { revision, changes: rows.map(changeOf) }
}

function changeOf(row: { revision: number; table_name: QuotaTable; id: string; record: Row | null }): QuotaChange {
  const { revision, table_name: table, id } = row
  const record = row.record === null ? undefined : tableOf(table).toRecord(row.record)
  return { table, id, record, revision } as QuotaChange
}
