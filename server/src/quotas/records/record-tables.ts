import { SluiceError } from 'sluice/internal/core/errors'
import type { Block, Override, QuotaRecords, QuotaTable, Subject } from '../model.ts'

/** How a column is kept. Times are timestamps for people who look into the database, and milliseconds on the way. */
type Kind = 'text' | 'int8' | 'jsonb' | 'time'

export type Row = Readonly<Record<string, unknown>>

/** A RecordTable says how the records of one kind are kept. Every table has a text `id` and a `version`. */
export interface RecordTable<Rec> {
  readonly name: string
  readonly columns: Readonly<Record<string, Kind>>
  /** Filters, by the name that callers use. */
  readonly filters: Readonly<Record<string, string>>
  /** What a search looks at the beginning of, beside the id. */
  readonly searched: readonly string[]
  /** A condition that finds more, of a pattern in small letters. */
  readonly foundBy?: (pattern: string) => string
  idOf(record: Rec): string
  toRow(record: Rec): Row
  toRecord(row: Row): Rec
  /** Whom an entry of the audit log is about. */
  customerOf(record: Rec): string | undefined
}

const text = (value: unknown): string | undefined => (value === null ? undefined : (value as string))
const number = (value: unknown): number | undefined => (value === null ? undefined : (value as number))

const subjectColumns = { customer_id: 'text', api_key_id: 'text' } as const
const spanColumns = { effective_at: 'time', expires_at: 'time' } as const

function subjectRow(subject: Subject | { readonly kind: 'cidr' }): Row {
  return {
    customer_id: subject.kind === 'customer' ? subject.customerId : null,
    api_key_id: subject.kind === 'key' ? subject.keyId : null,
  }
}

function subjectOf(row: Row): Subject {
  if (row.customer_id !== null) return { kind: 'customer', customerId: row.customer_id as string }
  return { kind: 'key', keyId: row.api_key_id as string }
}

const spanRow = (record: Override | Block | QuotaRecords['grants']): Row => ({
  effective_at: record.effectiveAtMs,
  expires_at: record.expiresAtMs ?? null,
})
const spanOf = (row: Row): { effectiveAtMs: number; expiresAtMs: number | undefined } => ({
  effectiveAtMs: row.effective_at as number,
  expiresAtMs: number(row.expires_at),
})

const customerOfSubject = ({ subject }: Override | Block): string | undefined =>
  subject.kind === 'customer' ? subject.customerId : undefined

export const RECORD_TABLES: { readonly [T in QuotaTable]: RecordTable<QuotaRecords[T]> } = {
  customers: {
    name: 'sluice.customers',
    columns: {
      id: 'text',
      name: 'text',
      tier: 'text',
      status: 'text',
      time_zone: 'text',
      period_anchor: 'text',
      metadata: 'jsonb',
      version: 'int8',
      created_at: 'time',
      updated_at: 'time',
    },
    filters: { tier: 'tier', status: 'status', timeZone: 'time_zone' },
    searched: ['name'],
    foundBy: (pattern) =>
      `id IN (SELECT customer_id FROM sluice.api_keys WHERE lower(prefix) COLLATE "C" LIKE ${pattern})`,
    idOf: ({ id }) => id,
    customerOf: ({ id }) => id,
    toRow: (it) => ({
      id: it.id,
      name: it.name,
      tier: it.tier ?? null,
      status: it.status,
      time_zone: it.timeZone,
      period_anchor: it.periodAnchor ?? null,
      metadata: it.metadata,
      version: it.version,
      created_at: it.createdAtMs,
      updated_at: it.updatedAtMs,
    }),
    toRecord: (row) => ({
      id: row.id as string,
      name: row.name as string,
      tier: text(row.tier),
      status: row.status as 'active' | 'suspended',
      timeZone: row.time_zone as string,
      periodAnchor: text(row.period_anchor),
      metadata: row.metadata as Record<string, string>,
      version: row.version as number,
      createdAtMs: row.created_at as number,
      updatedAtMs: row.updated_at as number,
    }),
  },
  api_keys: {
    name: 'sluice.api_keys',
    columns: {
      id: 'text',
      hash: 'text',
      prefix: 'text',
      customer_id: 'text',
      name: 'text',
      tier: 'text',
      version: 'int8',
      created_at: 'time',
      revoked_at: 'time',
    },
    filters: { customerId: 'customer_id', tier: 'tier', hash: 'hash', prefix: 'prefix' },
    searched: ['name', 'prefix'],
    idOf: ({ id }) => id,
    customerOf: ({ customerId }) => customerId,
    toRow: (it) => ({
      id: it.id,
      hash: it.hash,
      prefix: it.prefix,
      customer_id: it.customerId ?? null,
      name: it.name,
      tier: it.tier ?? null,
      version: it.version,
      created_at: it.createdAtMs,
      revoked_at: it.revokedAtMs ?? null,
    }),
    toRecord: (row) => ({
      id: row.id as string,
      hash: row.hash as string,
      prefix: row.prefix as string,
      customerId: text(row.customer_id),
      name: row.name as string,
      tier: text(row.tier),
      version: row.version as number,
      createdAtMs: row.created_at as number,
      revokedAtMs: number(row.revoked_at),
    }),
  },
  overrides: {
    name: 'sluice.quota_overrides',
    columns: {
      id: 'text',
      ...subjectColumns,
      descriptor: 'text',
      requests_per_unit: 'int8',
      unit: 'text',
      algorithm: 'text',
      burst: 'int8',
      ...spanColumns,
      reason: 'text',
      ticket: 'text',
      version: 'int8',
      created_at: 'time',
      updated_at: 'time',
    },
    filters: { customerId: 'customer_id', keyId: 'api_key_id', descriptor: 'descriptor', ticket: 'ticket' },
    searched: ['customer_id', 'descriptor'],
    idOf: ({ id }) => id,
    customerOf: customerOfSubject,
    toRow: (it) => ({
      id: it.id,
      ...subjectRow(it.subject),
      descriptor: it.descriptor,
      requests_per_unit: it.requestsPerUnit,
      unit: it.unit,
      algorithm: it.algorithm ?? null,
      burst: it.burst ?? null,
      ...spanRow(it),
      reason: it.reason ?? null,
      ticket: it.ticket ?? null,
      version: it.version,
      created_at: it.createdAtMs,
      updated_at: it.updatedAtMs,
    }),
    toRecord: (row) => ({
      id: row.id as string,
      subject: subjectOf(row),
      descriptor: row.descriptor as string,
      requestsPerUnit: row.requests_per_unit as number,
      unit: row.unit as Override['unit'],
      algorithm: text(row.algorithm),
      burst: number(row.burst),
      ...spanOf(row),
      reason: text(row.reason),
      ticket: text(row.ticket),
      version: row.version as number,
      createdAtMs: row.created_at as number,
      updatedAtMs: row.updated_at as number,
    }),
  },
  grants: {
    name: 'sluice.grants',
    columns: {
      id: 'text',
      customer_id: 'text',
      descriptor: 'text',
      amount: 'int8',
      ...spanColumns,
      reason: 'text',
      ticket: 'text',
      version: 'int8',
      created_at: 'time',
    },
    filters: { customerId: 'customer_id', descriptor: 'descriptor', ticket: 'ticket' },
    searched: ['customer_id'],
    idOf: ({ id }) => id,
    customerOf: ({ customerId }) => customerId,
    toRow: (it) => ({
      id: it.id,
      customer_id: it.customerId,
      descriptor: it.descriptor,
      amount: it.amount,
      ...spanRow(it),
      reason: it.reason ?? null,
      ticket: it.ticket ?? null,
      version: it.version,
      created_at: it.createdAtMs,
    }),
    toRecord: (row) => ({
      id: row.id as string,
      customerId: row.customer_id as string,
      descriptor: row.descriptor as string,
      amount: row.amount as number,
      ...spanOf(row),
      reason: text(row.reason),
      ticket: text(row.ticket),
      version: row.version as number,
      createdAtMs: row.created_at as number,
    }),
  },
  blocks: {
    name: 'sluice.blocks',
    columns: {
      id: 'text',
      ...subjectColumns,
      cidr: 'text',
      ...spanColumns,
      reason: 'text',
      status: 'int8',
      body: 'text',
      version: 'int8',
      created_at: 'time',
    },
    filters: { customerId: 'customer_id', keyId: 'api_key_id', cidr: 'cidr' },
    searched: ['customer_id', 'cidr'],
    idOf: ({ id }) => id,
    customerOf: customerOfSubject,
    toRow: (it) => ({
      id: it.id,
      ...subjectRow(it.subject),
      cidr: it.subject.kind === 'cidr' ? it.subject.cidr : null,
      ...spanRow(it),
      reason: it.reason ?? null,
      status: it.status,
      body: it.body ?? null,
      version: it.version,
      created_at: it.createdAtMs,
    }),
    toRecord: (row) => ({
      id: row.id as string,
      subject: row.cidr === null ? subjectOf(row) : { kind: 'cidr', cidr: row.cidr as string },
      ...spanOf(row),
      reason: text(row.reason),
      status: row.status as number,
      body: text(row.body),
      version: row.version as number,
      createdAtMs: row.created_at as number,
    }),
  },
  tiers: {
    name: 'sluice.tiers',
    columns: { id: 'text', domain: 'text', name: 'text', limits: 'jsonb', version: 'int8', updated_at: 'time' },
    filters: { domain: 'domain', name: 'name' },
    searched: ['name'],
    idOf: ({ domain, name }) => `${domain}/${name}`,
    customerOf: () => undefined,
    toRow: (it) => ({
      id: `${it.domain}/${it.name}`,
      domain: it.domain,
      name: it.name,
      limits: it.limits ?? null,
      version: it.version,
      updated_at: it.updatedAtMs,
    }),
    toRecord: (row) => ({
      domain: row.domain as string,
      name: row.name as string,
      limits: row.limits,
      version: row.version as number,
      updatedAtMs: row.updated_at as number,
    }),
  },
  switches: {
    name: 'sluice.switches',
    columns: {
      id: 'text',
      domain: 'text',
      rule: 'text',
      mode: 'text',
      reason: 'text',
      version: 'int8',
      updated_at: 'time',
    },
    filters: { domain: 'domain', mode: 'mode' },
    searched: [],
    idOf: ({ rule }) => (rule === undefined ? '*' : `${rule.domain}/${rule.id}`),
    customerOf: () => undefined,
    toRow: (it) => ({
      id: it.rule === undefined ? '*' : `${it.rule.domain}/${it.rule.id}`,
      domain: it.rule?.domain ?? null,
      rule: it.rule?.id ?? null,
      mode: it.mode,
      reason: it.reason ?? null,
      version: it.version,
      updated_at: it.updatedAtMs,
    }),
    toRecord: (row) => ({
      rule: row.rule === null ? undefined : { domain: row.domain as string, id: row.rule as string },
      mode: row.mode as QuotaRecords['switches']['mode'],
      reason: text(row.reason),
      version: row.version as number,
      updatedAtMs: row.updated_at as number,
    }),
  },
}

export const QUOTA_TABLES = Object.keys(RECORD_TABLES) as QuotaTable[]

/** tableOf returns how a table is kept, for any record of it. */
export function tableOf(table: QuotaTable): RecordTable<unknown> {
  const found = Object.hasOwn(RECORD_TABLES, table) ? RECORD_TABLES[table] : undefined
  if (found === undefined) throw new SluiceError('RECORD_INVALID', 'table', `got ${JSON.stringify(table)}`)
  return found as unknown as RecordTable<unknown>
}

/** selectList spells what a SELECT reads: rows as `toRecord` takes them. */
export function selectList({ columns }: Pick<RecordTable<unknown>, 'columns'>): string {
  return Object.entries(columns)
    .map(([name, kind]) => (kind === 'time' ? `(extract(epoch FROM ${name}) * 1000)::int8 AS ${name}` : name))
    .join(', ')
}

/** upsertSql spells a statement that puts the rows of one parameter, a list in JSON. */
export function upsertSql({ name, columns }: RecordTable<unknown>): string {
  const names = Object.keys(columns)
  const values = names.map((column) => (columns[column] === 'time' ? `to_timestamp(${column} / 1000)` : column))
  const types = names.map((column) => `${column} ${columns[column] === 'time' ? 'float8' : columns[column]}`)
  const updates = names.filter((column) => column !== 'id').map((column) => `${column} = excluded.${column}`)
  return `INSERT INTO ${name} (${names.join(', ')}) SELECT ${values.join(', ')}
    FROM jsonb_to_recordset($1::jsonb) AS r (${types.join(', ')})
    ON CONFLICT (id) DO UPDATE SET ${updates.join(', ')}`
}
