import { QUOTA_TABLES, tableOf } from '../../records/tables.ts'
import type { QuotaChange, QuotaRecords, QuotaSnapshot, QuotaTable } from '../model.ts'
import type { QuotaBook } from './quota-book.ts'

/** How many records are sent and taken at a time: a millisecond of work for either side. */
const AT_ONCE = 250

/** A QuotaPart is some records of one table: what is sent, and taken, at a time. */
export type QuotaPart = {
  [T in QuotaTable]: { readonly table: T; readonly records: readonly QuotaRecords[T][] }
}[QuotaTable]

/** Cuts records into parts. */
export function* quotaParts(records: Pick<QuotaSnapshot, QuotaTable>): Generator<QuotaPart> {
  for (const table of QUOTA_TABLES) {
    for (let i = 0; i < records[table].length; i += AT_ONCE) {
      yield { table, records: records[table].slice(i, i + AT_ONCE) } as QuotaPart
    }
  }
}

/** Puts the records of a part into a book. */
export function takePart(book: QuotaBook, { table, records }: QuotaPart): void {
  for (const record of records) book.put(table, recordId(table, record), record)
}

/** Returns the key of a record, as changes name it. */
export function recordId(table: QuotaTable, record: QuotaRecords[QuotaTable]): string {
  return tableOf(table).idOf(record)
}

/** Leaves out what no decision depends on, and would be sent to every worker. */
export function slimRecord<T extends QuotaTable>(table: T, record: QuotaRecords[T]): QuotaRecords[T] {
  return tableOf(table).toWorkers(record) as QuotaRecords[T]
}

/** Does what slimRecord does, for a change. */
export function slimChange(change: QuotaChange): QuotaChange {
  const { table, record } = change
  return record === undefined ? change : ({ ...change, record: slimRecord(table, record) } as QuotaChange)
}
