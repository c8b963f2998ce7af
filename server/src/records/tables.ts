import { SluiceError } from 'sluice/internal/core/errors'
import { blocks } from '../admin/blocks/table.ts'
import { customers } from '../admin/customers/table.ts'
import { grants } from '../admin/grants/table.ts'
import { api_keys } from '../admin/keys/table.ts'
import { meters } from '../admin/meters/table.ts'
import { overrides } from '../admin/overrides/table.ts'
import { switches } from '../admin/switches/table.ts'
import { tiers } from '../admin/tiers/table.ts'
import type { RecordIn, RecordTable } from './record-table.ts'

// What product owners sell and support changes: customers, their keys, and everything that changes what they may do. Each kind has its
// table of fields in its folder: types, columns, requests, answers, forms of the dashboard and what workers receive follow from it
// (CONTRIBUTING.md, "A new field of a record"). A column needs a migration as well.

/** All kinds of records, in the order in which workers receive them: what others refer to comes first. */
export const RECORD_TABLES = { customers, api_keys, overrides, grants, blocks, tiers, switches, meters } as const

/** All kinds of records, by the names of their tables. */
export type QuotaRecords = { readonly [T in keyof typeof RECORD_TABLES]: RecordIn<(typeof RECORD_TABLES)[T]> }
export type QuotaTable = keyof QuotaRecords

export interface Customer extends RecordIn<typeof customers> {}
export interface ApiKey extends RecordIn<typeof api_keys> {}
export interface Override extends RecordIn<typeof overrides> {}
export interface Grant extends RecordIn<typeof grants> {}
export interface Block extends RecordIn<typeof blocks> {}
export interface StoredTier extends RecordIn<typeof tiers> {}
export interface RuleSwitch extends RecordIn<typeof switches> {}
export interface Meter extends RecordIn<typeof meters> {}

export const QUOTA_TABLES = Object.keys(RECORD_TABLES) as QuotaTable[]

/** Returns how a kind of record is stored, for any record of it. */
export function tableOf(table: QuotaTable): RecordTable<unknown> {
  const found = Object.hasOwn(RECORD_TABLES, table) ? RECORD_TABLES[table] : undefined
  if (found === undefined) throw new SluiceError('RECORD_INVALID', 'table', `got ${JSON.stringify(table)}`)
  return found as unknown as RecordTable<unknown>
}
