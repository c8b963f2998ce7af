import { SluiceError } from 'sluice/internal/core/errors'
import type { Page } from '../../quotas/database/database.ts'
import type { Override, QuotaRecords, QuotaTable, StoredTier } from '../../quotas/model.ts'
import { tableOf } from '../../records/tables.ts'
import type { ProposedChange } from './change.ts'
import type { Call, Reply } from './operation.ts'
import { type AdminParts, PROBLEMS, RECORDS } from './parts.ts'
import { unknownRecord } from './values.ts'

export const DEFAULT_PAGE_SIZE = 50

/** load returns a record, or throws that there is none. */
export async function load<T extends QuotaTable>(
  call: { readonly parts: AdminParts },
  table: T,
  id: string,
): Promise<QuotaRecords[T]> {
  const found = await call.parts.get(RECORDS).get(table, id)
  if (found === undefined) throw unknownRecord(table, id)
  return found
}

/** Resolves with the id of the customer that a path names, or throws RECORD_UNKNOWN. */
export async function loadCustomer(call: HasParts & { readonly params: unknown }): Promise<string> {
  const { customer_id } = call.params as { readonly customer_id: string }
  return (await load(call, 'customers', customer_id)).id
}

/** answered is a record as it is answered, with what is wrong with it. */
export function answered<T extends QuotaTable>({ parts }: HasParts, table: T, record: QuotaRecords[T]): unknown {
  return tableOf(table).toJson(record, { problem: problemOf(parts, table, record) })
}

function problemOf(parts: AdminParts, table: QuotaTable, record: QuotaRecords[QuotaTable]): string | undefined {
  const problems = parts.find(PROBLEMS)
  if (table === 'tiers') return problems?.ofTier(record as StoredTier)
  return table === 'overrides' ? problems?.ofOverride(record as Override) : undefined
}

export interface HasParts {
  readonly parts: AdminParts
}

/** recordReply answers with a record. */
export function recordReply<T extends QuotaTable>(call: HasParts, table: T, record: QuotaRecords[T]): Reply {
  return { body: answered(call, table, record), version: record.version }
}

export function requireVersion({ version }: Pick<Call, 'version'>, current: number): void {
  if (version !== undefined && version !== current) {
    throw new SluiceError('VERSION_STALE', 'if-match', `got version ${version}, and it is ${current}`)
  }
}

export function proposed(table: QuotaTable, id: string, before: unknown, after: unknown): ProposedChange {
  return { kind: 'record', table, id, before, after }
}

/** pageReply answers with a page. */
export function pageReply<T>(
  { cursor }: Pick<Call, 'cursor'>,
  page: Page<T>,
  toJson: (item: T) => unknown,
  more: object = {},
): Reply {
  return { body: { items: page.items.map(toJson), next_cursor: cursor.next(page.next), ...more } }
}
