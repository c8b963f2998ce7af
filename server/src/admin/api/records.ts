import { SluiceError } from 'sluice/internal/core/errors'
import type { Actor } from '../../quotas/audit/actor.ts'
import type { Page } from '../../quotas/database/database.ts'
import type { Override, QuotaRecords, QuotaTable, StoredTier } from '../../quotas/model.ts'
import { tableOf } from '../../records/tables.ts'
import type { ProposedChange } from './change.ts'
import type { Call, Change, Reply } from './operation.ts'
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

interface Target<T extends QuotaTable> {
  readonly table: T
  readonly id: string
}

/** creation plans a new record. Where the id is taken, it throws RECORD_EXISTS: at once, or when somebody else was faster. */
export async function creation<T extends QuotaTable>(
  call: { readonly parts: AdminParts; readonly by: Actor },
  { table, id }: Target<T>,
  record: QuotaRecords[T],
  reply: (made: QuotaRecords[T]) => Reply = (made) => recordReply(call, table, made),
): Promise<Change> {
  const quotas = call.parts.get(RECORDS)
  if ((await quotas.get(table, id)) !== undefined) throw taken(table, id)
  return {
    changes: [proposed(table, id, undefined, record)],
    commit: async (by = call.by) => {
      try {
        return reply(await quotas.put(table, record, by, 0))
      } catch (error) {
        throw error instanceof SluiceError && error.code === 'VERSION_STALE' ? taken(table, id) : error
      }
    },
  }
}

/** replacement plans a change of a record that is there. The version that the caller has seen is asked for twice: now, and by the store. */
export async function replacement<T extends QuotaTable>(
  call: Pick<Call, 'parts' | 'by' | 'version'>,
  { table, id }: Target<T>,
  change: (before: QuotaRecords[T]) => QuotaRecords[T],
): Promise<Change> {
  const before = await load(call, table, id)
  requireVersion(call, before.version)
  const after = change(before)
  return {
    changes: [proposed(table, id, before, after)],
    commit: async (by = call.by) =>
      recordReply(call, table, await call.parts.get(RECORDS).put(table, after, by, call.version)),
  }
}

/** removal plans to remove a record. */
export async function removal<T extends QuotaTable>(
  call: Pick<Call, 'parts' | 'by' | 'version'>,
  { table, id }: Target<T>,
  found?: QuotaRecords[T],
): Promise<Change> {
  const before = found ?? (await load(call, table, id))
  requireVersion(call, before.version)
  return {
    changes: [proposed(table, id, before, undefined)],
    commit: async (by = call.by) => {
      await call.parts.get(RECORDS).remove(table, id, by, call.version)
      return {}
    },
  }
}

export function requireVersion({ version }: Pick<Call, 'version'>, current: number): void {
  if (version !== undefined && version !== current) {
    throw new SluiceError('VERSION_STALE', 'if-match', `got version ${version}, and it is ${current}`)
  }
}

export function proposed(table: QuotaTable, id: string, before: unknown, after: unknown): ProposedChange {
  return { kind: 'record', table, id, before, after }
}

function taken(table: QuotaTable, id: string): SluiceError {
  return new SluiceError('RECORD_EXISTS', table, `${JSON.stringify(id)} is there`)
}

/** pageReply answers with a page. */
export function pageReply<T>(
  { cursor }: Pick<Call, 'cursor'>,
  page: Page<T>,
  spell: (item: T) => unknown,
  more: object = {},
): Reply {
  return { body: { items: page.items.map(spell), next_cursor: cursor.next(page.next), ...more } }
}

/** listRecords answers with a page of a table. */
export async function listRecords<T extends QuotaTable>(
  call: Pick<Call, 'parts' | 'cursor' | 'query'>,
  table: T,
  where: Readonly<Record<string, string | undefined>>,
  search?: string,
): Promise<Reply> {
  const { page_size = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
  const given = Object.entries(where).filter((each): each is [string, string] => each[1] !== undefined)
  const page = await call.parts.get(RECORDS).list(table, {
    where: Object.fromEntries(given),
    search,
    after: call.cursor.after,
    limit: page_size,
  })
  return pageReply(call, page, (record) => answered(call, table, record))
}
