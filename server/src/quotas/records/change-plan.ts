import { got, SluiceError } from 'sluice/internal/core/errors'
import type { Row } from '../../records/record-table.ts'
import { tableOf } from '../../records/tables.ts'
import type { NewEntry } from '../audit/audit-entry.ts'
import type { QuotaTable } from '../model.ts'

/** A Change puts a record, or removes the one that has the id. */
export interface Change {
  readonly table: QuotaTable
  readonly id: string
  /** Undefined: it is removed. */
  readonly record: unknown
  /** What the caller has seen: undefined takes any, 0 is none. */
  readonly version?: number | undefined
}

/** A Step is a change as it is carried out: one row that was and one that is to be. */
export interface Step {
  readonly table: QuotaTable
  readonly id: string
  readonly before: Row | undefined
  readonly after: Row | undefined
}

/** Compares a change with the stored record. Undefined: there is nothing to do. */
export function planStep(change: Change, before: Row | undefined, revision: number, nowMs: number): Step | undefined {
  checkVersion(change, before)
  const { table, id } = change
  if (change.record === undefined) return before === undefined ? undefined : { table, id, before, after: undefined }
  const kept = tableOf(table)
  const row = { ...rowOf(change), version: revision }
  const after = {
    ...row,
    ...('created_at' in kept.columns && { created_at: before?.created_at ?? nowMs }),
    ...('updated_at' in kept.columns && { updated_at: nowMs }),
  }
  return { table, id, before, after }
}

function checkVersion({ table, id, version }: Change, before: Row | undefined): void {
  if (version === undefined) return
  const found = (before?.version as number | undefined) ?? 0
  if (found === version) return
  const there = found === 0 ? 'it is not there' : `it has version ${found}`
  throw new SluiceError(
    'VERSION_STALE',
    `${table}/${id}`,
    version === 0 ? 'it is there already' : `${there}, not ${version}`,
  )
}

function rowOf({ table, id, record }: Change): Row {
  const kept = tableOf(table)
  if (typeof record !== 'object' || record === null)
    throw new SluiceError('RECORD_INVALID', `${table}/${id}`, got(record))
  let row: Row
  try {
    row = kept.toRow(record)
  } catch {
    throw new SluiceError('RECORD_INVALID', `${table}/${id}`, 'a field is missing')
  }
  if (row.id !== id || id === '') throw new SluiceError('RECORD_INVALID', `${table}/${id}`, `its id is ${got(row.id)}`)
  return row
}

/** Returns the entry of a step in the audit log. */
export function auditOf({ table, id, before, after }: Step, inForceOn?: ReadonlyMap<string, unknown>): NewEntry {
  const kept = tableOf(table)
  const found = inForceOn?.get(`${table}/${id}`)
  const more = found === undefined ? {} : { inForceOn: found }
  const textOf = (row: Row | undefined, extra = {}): string | undefined =>
    row && kept.toAudit(kept.toRecord(row), extra)
  return {
    action: `${table}.${after === undefined ? 'remove' : 'put'}`,
    target: `${table}/${id}`,
    customerId: kept.customerOf(kept.toRecord((after ?? before)!)),
    before: textOf(before),
    after: textOf(after, more),
  }
}
