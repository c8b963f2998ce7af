import type { QuotaRecords, QuotaTable } from '../records/tables.ts'

export type { Subject } from '../records/shared-fields.ts'
export type {
  ApiKey,
  Block,
  Customer,
  Grant,
  Meter,
  Override,
  QuotaRecords,
  QuotaTable,
  RuleSwitch,
  StoredTier,
} from '../records/tables.ts'

/**
 * What may refuse a request, in order: rules that count hits, rules that count concurrent requests, the usage of the
 * fleet, and that of a worker.
 */
export const LAYERS = ['rate', 'concurrency', 'fleet', 'worker', 'upstream'] as const

export type Layer = (typeof LAYERS)[number]

/** The domain of switches that are about a whole layer: the layer is their rule. */
export const LAYER_DOMAIN = '$layers'

/** The kinds of what the audit log records. */
export const AUDIT_KINDS = [
  'customers',
  'api_keys',
  'overrides',
  'grants',
  'blocks',
  'tiers',
  'switches',
  'meters',
  'ledger',
  'tokens',
  'rules',
  'counters',
  'webhooks',
] as const

/** A QuotaSnapshot is everything that decisions depend on, at one moment. */
export type QuotaSnapshot = { readonly [Table in QuotaTable]: readonly QuotaRecords[Table][] } & {
  /** Rises with every change of any record. */
  readonly revision: number
}

/**
 * A QuotaChange is one record that was put or removed. `id` is the record's key: for tiers `domain/name`, for switches
 * `domain/rule` or `*`.
 */
export type QuotaChange = {
  [Table in QuotaTable]: {
    readonly table: Table
    readonly id: string
    /** Undefined: it was removed. */
    readonly record: QuotaRecords[Table] | undefined
    readonly revision: number
  }
}[QuotaTable]
