import { randomUUID } from 'node:crypto'
import type { Schema } from 'sluice/internal/core/schema/schema'
import type { ApiKey, Override } from '../../quotas/model.ts'
import {
  COUNT,
  list,
  NAMED_API_KEY,
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  REASON,
  SPAN,
  TIER_NAME,
  TIME,
  WHOLE,
  WORDS,
} from '../../records/forms.ts'
import type { Given } from '../../records/record-table.ts'
import { changedAnswer, REMOVED, statingInForce } from '../api/in-force.ts'
import { type Call, type Change, operation, type Reply } from '../api/operation.ts'
import { RECORDS } from '../api/parts.ts'
import { proposed, requireVersion } from '../api/records.ts'
import { invalid, orNull, timeText } from '../api/values.ts'
import { COUNTERS, type DefaultLimit } from '../counters/counters.ts'
import { findKey, keyFields, keyInUse } from '../keys/find-key.ts'
import { api_keys } from '../keys/table.ts'
import { usageJson } from '../limits/limit-states.ts'
import { CONSENT_FIELDS, requireConsent, requireScope } from '../overrides/override-scope.ts'
import { overrides } from '../overrides/table.ts'

const PARAM = { api_key: { schema: NAMED_API_KEY, doc: 'the API key itself' } } as const
/** More limits of one key's own than any API has endpoints that need one. */
const MAX_OVERRIDES = 100

const PLAIN = { requests_per_unit: needed(COUNT), unit: needed(WORDS) } as const
const DEFAULT = {
  ...PLAIN,
  domain: nullable(WORDS, 'of the rule; null: every domain'),
  rule: nullable(WORDS, 'the id of the rule; null: every rule'),
} as const
const OWN = object({
  descriptor: needed(WORDS),
  ...PLAIN,
  domain: nullable(WORDS, 'null: for every domain'),
  rule: nullable(WORDS, 'null: for every rule'),
})

const QUOTA_ANSWER = {
  api_key: needed(WORDS),
  tier: nullable(WORDS),
  quotas: needed(
    object({
      default: nullable(
        object(DEFAULT),
        'the override named default for every domain; or else the limit of the first rule that API keys lead to',
      ),
      overrides: needed(list(OWN)),
    }),
  ),
  updated_at: needed(TIME),
}
const QUOTA = named('Quota', object(QUOTA_ANSWER))

const USAGE = named(
  'KeyUsage',
  object({
    api_key: needed(WORDS),
    current_window: nullable(object({ start: needed(TIME), end: needed(TIME) }), 'of the first limit'),
    usage: needed({
      kind: 'map',
      of: object({ used: needed(WHOLE), limit: needed(WHOLE), remaining: needed(WHOLE) }),
    }),
  }),
)

/** What a request says of each override: the span and the reason are the same for all. */
const { ticket: _ticket, reason: _why, effective_at: _from, expires_at: _to, ...OWN_FIELDS } = overrides.sent.whole
const OWN_FORM: Schema = object(OWN_FIELDS)

type OfKey = Pick<Call, 'parts'> & { readonly params: { readonly api_key: string } }

const findOwn = (call: OfKey): Promise<ApiKey> => findKey(call, call.params.api_key, 'quotas')

async function overridesOf(call: Pick<Call, 'parts'>, keyId: string): Promise<readonly Override[]> {
  const { items } = await call.parts.get(RECORDS).list('overrides', { where: { keyId }, limit: MAX_OVERRIDES })
  return items
}

function quotaJson(call: OfKey, tier: string | undefined, overrides: readonly Override[], updatedAtMs: number) {
  const others = overrides.filter((each) => !isPlain(each))
  return {
    api_key: call.params.api_key,
    tier: tier ?? null,
    quotas: {
      default: defaultJson(overrides, call.parts.get(COUNTERS).defaultOf(tier)),
      overrides: others.map((each) => ({
        descriptor: each.descriptor,
        ...plainJson(each),
        domain: orNull(each.domain),
        rule: orNull(each.rule),
      })),
    },
    updated_at: timeText(updatedAtMs),
  }
}

/**
 * Returns the key's own limit for every rule or, where it has none, the limit at the first rule: its own there, or the
 * rule's.
 */
function defaultJson(overrides: readonly Override[], first: DefaultLimit | undefined) {
  const plain = overrides.find(isPlain)
  if (plain !== undefined) return { ...plainJson(plain), domain: null, rule: null }
  if (first === undefined) return null
  const { domain, ruleId, ruleName } = first
  const there = overrides.filter((each) => each.descriptor === 'default' && each.domain === domain)
  const own = there.find(({ rule }) => rule === ruleId || rule === ruleName) ?? there.find(({ rule }) => !rule)
  return { ...plainJson(own ?? first), domain, rule: ruleId }
}

const plainJson = ({ requestsPerUnit, unit }: Pick<DefaultLimit, 'requestsPerUnit' | 'unit'>) => ({
  requests_per_unit: requestsPerUnit,
  unit,
})

const isPlain = ({ descriptor, domain }: Override): boolean => descriptor === 'default' && domain === undefined

/** Identifies what an override of a key is about. */
const aboutOf = ({ descriptor, domain, rule }: Pick<Override, 'descriptor' | 'domain' | 'rule'>): string =>
  JSON.stringify([descriptor, domain, rule])

interface OwnChange {
  readonly table: 'api_keys' | 'overrides'
  readonly id: string
  readonly before: { readonly version: number } | undefined
  readonly record: unknown
}

/** Plans several changes, all or none. The store compares the versions again, where the caller named one. */
function changing(call: Call, changes: readonly OwnChange[], reply: () => Promise<Reply>): Change {
  return {
    changes: changes.map(({ table, id, before, record }) => proposed(table, id, before, record)),
    commit: async (by = call.by) => {
      const seen = ({ before }: OwnChange) => (call.version === undefined ? {} : { version: before?.version ?? 0 })
      await call.parts.get(RECORDS).changeAll(
        changes.map((each) => ({ table: each.table, id: each.id, record: each.record, ...seen(each) })),
        by,
      )
      return reply()
    },
  }
}

async function tierOf(call: Pick<Call, 'parts'>, { tier, customerId }: ApiKey): Promise<string | undefined> {
  if (tier !== undefined || customerId === undefined) return tier
  return (await call.parts.get(RECORDS).get('customers', customerId))?.tier
}

/** The operations that name an API key in their path, as the first readers of this API know them. */
export const QUOTA_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'readQuota',
    method: 'GET',
    path: '/quotas/{api_key}',
    tag: 'quotas',
    role: 'viewer',
    summary: 'the tier and the limits of one API key',
    params: PARAM,
    answer: { status: 200, schema: QUOTA, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const key = await findOwn(call)
      const overrides = await overridesOf(call, key.id)
      const updatedAtMs = Math.max(key.createdAtMs, ...overrides.map((each) => each.updatedAtMs))
      return { body: quotaJson(call, await tierOf(call, key), overrides, updatedAtMs), version: key.version }
    },
  }),
  operation({
    kind: 'change',
    id: 'putQuota',
    method: 'PUT',
    path: '/quotas/{api_key}',
    tag: 'quotas',
    role: 'operator',
    summary:
      'give an API key a tier and individual limits, which replace the ones it had; a key that is not known is added',
    params: PARAM,
    body: named(
      'QuotaFields',
      object({
        tier: optional(TIER_NAME),
        overrides: optional({ kind: 'list', max: MAX_OVERRIDES, of: OWN_FORM }),
        ...CONSENT_FIELDS,
        ...SPAN,
        reason: optional(REASON),
      }),
    ),
    ifMatch: 'optional',
    answer: { status: 200, schema: changedAnswer('QuotaChanged', QUOTA_ANSWER) },
    errors: ['VERSION_STALE', 'OVERRIDE_SCOPE_UNKNOWN', 'OVERRIDE_SCOPE_NEEDED', 'OVERRIDE_LOWERS'],
    plan: async (call) => {
      const { body, nowMs, params, parts } = call
      const before = await keyInUse(call, params.api_key)
      requireVersion(call, before?.version ?? 0)
      const tier = body.tier === undefined ? before?.tier : (body.tier ?? undefined)
      const fresh = before ?? api_keys.made({}, { id: '', nowMs }, keyFields(call, params.api_key))
      const key: ApiKey = { ...fresh, tier }
      const old = before === undefined ? [] : await overridesOf(call, key.id)
      const { effective_at, expires_at, reason } = body
      const given: readonly Given[] = (body as { overrides?: readonly Given[] | null }).overrides ?? []
      const own = given.map((each): Override => {
        const made = overrides.made(
          { ...each, effective_at, expires_at, reason },
          { id: '', nowMs },
          { subject: { kind: 'key', keyId: key.id } },
        )
        requireScope(parts, made)
        // One that stays what it is about stays the same record.
        const same = old.find((other) => aboutOf(other) === aboutOf(made))
        const { id = randomUUID(), version = 0, createdAtMs = nowMs } = same ?? {}
        return { ...made, id, version, createdAtMs }
      })
      if (new Set(own.map(aboutOf)).size < own.length) {
        throw invalid('body.overrides', 'a descriptor is given twice for the same rules')
      }
      const gone = old.filter(({ id }) => !own.some((each) => each.id === id))
      const changes = [
        { table: 'api_keys', id: key.id, before, record: key },
        ...own.map((record) => ({
          table: 'overrides' as const,
          id: record.id,
          before: old.find(({ id }) => id === record.id),
          record,
        })),
        ...gone.map((each) => ({ table: 'overrides' as const, id: each.id, before: each, record: undefined })),
      ] as const
      const planned = changing(call, changes, async () => ({
        body: quotaJson(call, await tierOf(call, key), own, nowMs),
      }))
      const puts = own.map((after) => ({ before: old.find(({ id }) => id === after.id), after }))
      return statingInForce(call, planned, requireConsent(puts, body))
    },
  }),
  operation({
    kind: 'change',
    id: 'removeQuota',
    method: 'DELETE',
    path: '/quotas/{api_key}',
    tag: 'quotas',
    role: 'operator',
    summary: "remove an API key's own limits and tier; a key without a customer is forgotten",
    params: PARAM,
    ifMatch: 'optional',
    answer: { status: 200, schema: REMOVED },
    errors: ['RECORD_UNKNOWN', 'VERSION_STALE'],
    plan: async (call) => {
      const key = await findOwn(call)
      requireVersion(call, key.version)
      const overrides = await overridesOf(call, key.id)
      const after = key.customerId === undefined ? undefined : { ...key, tier: undefined }
      const changes = [
        ...overrides.map((each) => ({ table: 'overrides' as const, id: each.id, before: each, record: undefined })),
        { table: 'api_keys' as const, id: key.id, before: key, record: after },
      ]
      return statingInForce(
        call,
        changing(call, changes, async () => ({})),
      )
    },
  }),
  operation({
    kind: 'look',
    id: 'readKeyUsage',
    method: 'GET',
    path: '/usage/{api_key}',
    tag: 'quotas',
    role: 'viewer',
    summary: 'what an API key has used of each of its limits',
    params: PARAM,
    answer: { status: 200, schema: USAGE },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const key = await findOwn(call)
      const { limits } = await call.parts.get(COUNTERS).limitsOf({
        kind: 'key',
        keyId: key.id,
        apiKey: call.params.api_key,
      })
      return { body: { api_key: call.params.api_key, ...usageJson(limits) } }
    },
  }),
]
