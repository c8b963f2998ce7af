/**
 * What product owners sell and support changes: customers, their keys, and everything that changes what they may do. Times are
 * milliseconds since the epoch; `undefined` is "without end". A `version` rises with every change of a record.
 */

/** A Customer is who pays. */
export interface Customer {
  /** Chosen by the API's owner, such as `acme`. */
  readonly id: string
  readonly name: string
  /** Undefined: the limits of callers without a tier. */
  readonly tier: string | undefined
  readonly status: 'active' | 'suspended'
  /** An IANA name; calendar windows of the customer's own limits follow it. */
  readonly timeZone: string
  /** The first day of a period, as `2026-01-31`. */
  readonly periodAnchor: string | undefined
  /** Free: a billing id, a sales contact. */
  readonly metadata: Readonly<Record<string, string>>
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** An ApiKey leads from what a request carries to a customer. The key itself is never kept. */
export interface ApiKey {
  readonly id: string
  /** HMAC-SHA256 of the key, in hex. */
  readonly hash: string
  /** The first characters of the key, for people. */
  readonly prefix: string
  /** Undefined: a key that has overrides or a tier of its own, and no customer. */
  readonly customerId: string | undefined
  readonly name: string
  /** The key's own tier, which comes before the customer's. */
  readonly tier: string | undefined
  readonly version: number
  readonly createdAtMs: number
  readonly revokedAtMs: number | undefined
}

/** A Subject is whom a change is about. */
export type Subject =
  | { readonly kind: 'customer'; readonly customerId: string }
  | { readonly kind: 'key'; readonly keyId: string }

/** A Span is when something is in force: by the time alone, without anybody doing anything. */
export interface Span {
  readonly effectiveAtMs: number
  readonly expiresAtMs: number | undefined
}

/** An Override is a limit of one caller's own. */
export interface Override extends Span {
  readonly id: string
  readonly subject: Subject
  /** `default`, or what stands below the tiered rule: `endpoint:POST /api/v1/orders`. */
  readonly descriptor: string
  readonly requestsPerUnit: number
  readonly unit: Unit
  readonly algorithm: string | undefined
  readonly burst: number | undefined
  readonly reason: string | undefined
  readonly ticket: string | undefined
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'

/** A Grant is extra budget, once: it is used when the customer's limit has nothing left, the first to expire first. */
export interface Grant extends Span {
  readonly id: string
  readonly customerId: string
  readonly descriptor: string
  readonly amount: number
  readonly reason: string | undefined
  readonly ticket: string | undefined
  readonly version: number
  readonly createdAtMs: number
}

/** A Block refuses everything of a customer, a key or an address range. */
export interface Block extends Span {
  readonly id: string
  readonly subject: Subject | { readonly kind: 'cidr'; readonly cidr: string }
  readonly reason: string | undefined
  readonly status: number
  readonly body: string | undefined
  readonly version: number
  readonly createdAtMs: number
}

/** A StoredTier is a tier of one domain as the API has it: it stands in place of the one in YAML. */
export interface StoredTier {
  readonly domain: string
  readonly name: string
  /** As below `tiers: NAME:` in a rule file, in JSON. */
  readonly limits: unknown
  readonly version: number
  readonly updatedAtMs: number
}

/** A RuleSwitch changes what one rule, or all, do: at once, on every node. */
export interface RuleSwitch {
  /** Undefined: every rule of every domain. */
  readonly rule: { readonly domain: string; readonly id: string } | undefined
  readonly mode: 'off' | 'shadow' | 'enforce'
  readonly reason: string | undefined
  readonly version: number
  readonly updatedAtMs: number
}

/**
 * LAYERS are what may refuse a request, in order: rules that count hits, rules that count requests at once, the usage of the
 * fleet, and that of a worker.
 */
export const LAYERS = ['rate', 'concurrency', 'fleet', 'worker', 'upstream'] as const

export type Layer = (typeof LAYERS)[number]

/** LAYER_DOMAIN is the domain of switches that are about a whole layer: the layer is their rule. */
export const LAYER_DOMAIN = '$layers'

/** QuotaRecords is every kind of record, by the name of its table. */
export interface QuotaRecords {
  readonly customers: Customer
  readonly api_keys: ApiKey
  readonly overrides: Override
  readonly grants: Grant
  readonly blocks: Block
  readonly tiers: StoredTier
  readonly switches: RuleSwitch
}

export type QuotaTable = keyof QuotaRecords

/** AUDIT_KINDS are the kinds of what the audit log tells of. */
export const AUDIT_KINDS = [
  'customers',
  'api_keys',
  'overrides',
  'grants',
  'blocks',
  'tiers',
  'switches',
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

/** A QuotaChange is one record that was put or removed. `id` is the record's key: for tiers `domain/name`, for switches `domain/rule` or `*`. */
export type QuotaChange = {
  [Table in QuotaTable]: {
    readonly table: Table
    readonly id: string
    /** Undefined: it was removed. */
    readonly record: QuotaRecords[Table] | undefined
    readonly revision: number
  }
}[QuotaTable]
