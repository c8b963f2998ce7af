import { SluiceError } from 'sluice/internal/core/errors'
import { ALGORITHM_NAMES, compileLimit } from 'sluice/internal/core/limit'
import { choice, count, type Field, optional, text, value } from './field.ts'
import {
  ANY,
  COUNT,
  DATE,
  DESCRIPTOR,
  METADATA,
  orNull,
  REASON,
  RULE_NAME,
  TIER_NAME,
  text as textForm,
  UNIT,
  WORDS,
} from './forms.ts'
import { type RecordTable, recordTable } from './record-table.ts'
import {
  blockedSubject,
  CREATED,
  customerOfSubject,
  id,
  readDay,
  readTimeZone,
  requireSpan,
  SPAN,
  subject,
  tier,
  time,
  UPDATED,
  VERSION,
  WHY,
} from './shared-fields.ts'

// What product owners sell and support changes: customers, their keys, and everything that changes what they may do. One table for each
// kind: types, columns, requests, answers, forms of the dashboard and what workers receive follow from it (CONTRIBUTING.md, "A new
// field of a record"). A column needs a migration as well.

const STATUS = { kind: 'choice', of: ['active', 'suspended'] } as const
const MODE = { kind: 'choice', of: ['off', 'shadow', 'enforce'] } as const
const NOTHING: Readonly<Record<string, string>> = Object.freeze({})
const MAX_METADATA = 50

function readMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (Object.keys(metadata).length <= MAX_METADATA) return metadata
  throw new SluiceError('ADMIN_REQUEST_INVALID', 'body.metadata', `more than ${MAX_METADATA} values`)
}

/** A problem is worked out for each answer, from the rules in force. */
const PROBLEM = { problem: orNull(WORDS, 'why it has no effect; null: nothing is wrong with it') } as const

/** A Customer is who pays. */
export const customers = recordTable({
  table: 'sluice.customers',
  schemaName: 'Customer',
  fields: {
    /** Chosen by the API's owner, such as `acme`. */
    id: id(),
    name: text(WORDS, {
      by: 'caller',
      sent: textForm(200),
      doc: 'the id by default',
      initial: ({ id }) => id,
      slim: '',
    }),
    /** Undefined: the limits of callers without a tier. */
    tier: tier(),
    status: choice(STATUS, { by: 'caller', initial: 'active' }),
    /** Calendar windows of the customer's limits follow it. */
    timeZone: text(WORDS, {
      by: 'caller',
      sent: textForm(64),
      doc: 'an IANA name; UTC by default',
      initial: 'UTC',
      read: readTimeZone,
    }),
    /** As `2026-01-31`. */
    periodAnchor: {
      ...optional(text(DATE, { by: 'caller', doc: 'the first day of a period', read: readDay })),
      slim: undefined,
    },
    /** Free: a billing id, a sales contact. */
    metadata: value<Readonly<Record<string, string>>>(METADATA, {
      by: 'caller',
      doc: 'free, at most 50 values: a billing id, a sales contact',
      initial: NOTHING,
      read: readMetadata,
      slim: NOTHING,
    }),
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  },
  filters: { tier: 'tier', status: 'status', timeZone: 'time_zone' },
  searched: ['name'],
  foundBy: (pattern) =>
    `id IN (SELECT customer_id FROM sluice.api_keys WHERE lower(prefix) COLLATE "C" LIKE ${pattern})`,
  customerOf: (customer) => customer.id,
})

/** An ApiKey leads from what a request carries to a customer. The key itself is never kept. */
export const api_keys = recordTable({
  table: 'sluice.api_keys',
  schemaName: 'ApiKey',
  fields: {
    id: id(),
    /** HMAC-SHA256 of the key, in hex. */
    hash: text(WORDS, { isSecret: true }),
    prefix: text(WORDS, { doc: 'the first characters of the key' }),
    /** Undefined: a key that has overrides or a tier, and no customer. */
    customerId: optional(text(WORDS)),
    name: text(WORDS, { by: 'caller', sent: textForm(200), initial: '', slim: '' }),
    tier: tier("the key's tier, which comes before the customer's"),
    ...VERSION,
    ...CREATED,
    revokedAtMs: optional(time()),
  },
  filters: { customerId: 'customer_id', tier: 'tier', hash: 'hash', prefix: 'prefix' },
  searched: ['name', 'prefix'],
  customerOf: ({ customerId }) => customerId,
})

const OF_SUBJECT = {
  customerId: 'customer_id',
  keyId: 'api_key_id',
  /** Of a customer, and of the keys of that customer. */
  ownerId: (id: string) =>
    `(customer_id = ${id} OR api_key_id IN (SELECT id FROM sluice.api_keys WHERE customer_id = ${id}))`,
} as const

/** Windows at least as long as a unit: enough to see whether a limit can be counted. */
const UNIT_WINDOWS: Readonly<Record<string, string>> = {
  second: '1s',
  minute: '1m',
  hour: '1h',
  day: '1d',
  week: '1w',
  month: '30d',
  year: '365d',
}

interface CountedLimit {
  readonly requestsPerUnit: number
  readonly unit: string
  readonly algorithm: string | undefined
  readonly burst: number | undefined
}

/** Throws for a limit that no algorithm could count: it is refused here, not on every node later. */
function requireCountable({ requestsPerUnit: limit, unit, algorithm, burst }: CountedLimit): void {
  const window = algorithm === 'concurrency' ? {} : { window: UNIT_WINDOWS[unit] }
  const counted = burst === undefined ? algorithm : (algorithm ?? 'token_bucket')
  const given = { limit, ...window, ...(counted && { algorithm: counted }), ...(burst !== undefined && { burst }) }
  compileLimit(given as Parameters<typeof compileLimit>[0], 'body')
}

/** An Override is a limit of one caller. */
export const overrides = recordTable({
  table: 'sluice.quota_overrides',
  schemaName: 'Override',
  fields: {
    id: id(),
    subject: subject(),
    descriptor: text(DESCRIPTOR, {
      by: 'caller',
      doc: '`default`, or such as `endpoint:POST /api/v1/orders`; `default` by default',
      initial: 'default',
    }),
    /** Undefined: every domain. */
    domain: optional(text(WORDS, { by: 'caller', sent: textForm(256), doc: 'for the rules of one domain alone' })),
    /** By its id or name, of the domain. Undefined: every rule. */
    rule: optional(
      text(WORDS, { by: 'caller', sent: textForm(4_096), doc: 'for one rule of that domain alone, by its id or name' }),
    ),
    requestsPerUnit: count(COUNT, { by: 'caller' }),
    unit: choice(UNIT, { by: 'caller' }),
    algorithm: optional(
      text(WORDS, { by: 'caller', sent: { kind: 'choice', of: ALGORITHM_NAMES }, doc: 'that of the rule by default' }),
    ),
    burst: optional(count(COUNT, { by: 'caller' })),
    ...WHY,
    ...SPAN,
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  },
  filters: { ...OF_SUBJECT, descriptor: 'descriptor', ticket: 'ticket' },
  searched: ['customer_id', 'descriptor'],
  customerOf: customerOfSubject,
  check: (record) => {
    requireCountable(record)
    requireSpan(record)
  },
  derived: PROBLEM,
})

/** A Grant is extra budget, once: it is used when the customer's limit has none left, the first to expire first. */
export const grants = recordTable({
  table: 'sluice.grants',
  schemaName: 'Grant',
  fields: {
    id: id(),
    customerId: text(WORDS),
    descriptor: text(DESCRIPTOR, { by: 'caller', doc: '`default` by default', initial: 'default' }),
    amount: count(COUNT, { by: 'caller', sent: { kind: 'integer', min: 1, max: COUNT.max } }),
    ...WHY,
    ...SPAN,
    ...VERSION,
    ...CREATED,
  },
  filters: { customerId: 'customer_id', descriptor: 'descriptor', ticket: 'ticket' },
  searched: ['customer_id'],
  customerOf: ({ customerId }) => customerId,
  check: requireSpan,
})

/** A Block refuses everything of a customer, a key or an address range. */
export const blocks = recordTable({
  table: 'sluice.blocks',
  schemaName: 'Block',
  fields: {
    id: id(),
    subject: blockedSubject(),
    reason: optional(text(REASON, { by: 'caller' })),
    status: count({ kind: 'integer', min: 400, max: 599 }, { by: 'caller', doc: '403 by default', initial: 403 }),
    body: optional(text(WORDS, { by: 'caller', sent: textForm(4_096), doc: 'what the caller is answered' })),
    ...SPAN,
    ...VERSION,
    ...CREATED,
  },
  filters: { ...OF_SUBJECT, cidr: 'cidr' },
  searched: ['customer_id', 'cidr'],
  customerOf: customerOfSubject,
  check: requireSpan,
})

/** A StoredTier is a tier of one domain as the API has it: it stands in place of the one in YAML. */
export const tiers = recordTable({
  table: 'sluice.tiers',
  schemaName: 'Tier',
  fields: {
    domain: text(WORDS),
    name: text(TIER_NAME),
    /** As below `tiers: NAME:` in a rule file, in JSON. */
    limits: value<unknown>(ANY, { by: 'caller', doc: 'as below the name of a tier in a rule file' }),
    ...VERSION,
    ...UPDATED,
  },
  idOf: (tier) => tierId(tier),
  filters: { domain: 'domain', name: 'name' },
  searched: ['name'],
  derived: PROBLEM,
})

/** tierId is the id of a tier. */
export function tierId({ domain, name }: { readonly domain: string; readonly name: string }): string {
  return `${domain}/${name}`
}

export type RuleName = { readonly domain: string; readonly id: string }

const ruleName = (): Field<RuleName | undefined> => ({
  kind: 'text',
  schema: WORDS,
  parts: {
    columns: { domain: optional(text(WORDS)) as Field, rule: optional(text(WORDS)) as Field },
    split: (rule) => (rule === undefined ? {} : { domain: rule.domain, rule: rule.id }),
    join: ({ domain, rule }) => (rule === null ? undefined : { domain: domain as string, id: rule as string }),
    answer: { schema: RULE_NAME, doc: 'null: every rule', of: (rule) => rule ?? null },
  },
})

/** A RuleSwitch changes what one rule, or all, do: immediately, on every node. */
export const switches = recordTable({
  table: 'sluice.switches',
  schemaName: 'Switch',
  fields: {
    /** Undefined: every rule of every domain. */
    rule: ruleName(),
    mode: choice(MODE, { by: 'caller' }),
    reason: optional(text(REASON, { by: 'caller' })),
    ...VERSION,
    ...UPDATED,
  },
  idOf: ({ rule }) => switchId(rule),
  filters: { domain: 'domain', mode: 'mode' },
})

/** ALL_RULES is the id of the switch of all rules. */
export const ALL_RULES = '*'

/** switchId is the id of the switch of a rule, or of all. */
export function switchId(rule: RuleName | undefined): string {
  return rule === undefined ? ALL_RULES : `${rule.domain}/${rule.id}`
}

/** RECORD_TABLES is every kind of record, in the order in which workers receive them: what others refer to comes first. */
export const RECORD_TABLES = { customers, api_keys, overrides, grants, blocks, tiers, switches } as const

type RecordIn<T> = T extends RecordTable<infer Rec> ? Rec : never

/** QuotaRecords is every kind of record, by the name of its table. */
export type QuotaRecords = { readonly [T in keyof typeof RECORD_TABLES]: RecordIn<(typeof RECORD_TABLES)[T]> }
export type QuotaTable = keyof QuotaRecords

export interface Customer extends RecordIn<typeof customers> {}
export interface ApiKey extends RecordIn<typeof api_keys> {}
export interface Override extends RecordIn<typeof overrides> {}
export interface Grant extends RecordIn<typeof grants> {}
export interface Block extends RecordIn<typeof blocks> {}
export interface StoredTier extends RecordIn<typeof tiers> {}
export interface RuleSwitch extends RecordIn<typeof switches> {}

export const QUOTA_TABLES = Object.keys(RECORD_TABLES) as QuotaTable[]

/** tableOf returns how a kind of record is kept, for any record of it. */
export function tableOf(table: QuotaTable): RecordTable<unknown> {
  const found = Object.hasOwn(RECORD_TABLES, table) ? RECORD_TABLES[table] : undefined
  if (found === undefined) throw new SluiceError('RECORD_INVALID', 'table', `got ${JSON.stringify(table)}`)
  return found as unknown as RecordTable<unknown>
}
