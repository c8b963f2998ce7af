import { randomUUID } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
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
import { changedAnswer, REMOVED, statingInForce } from '../api/in-force.ts'
import { type Call, type Change, operation } from '../api/operation.ts'
import { API_KEYS, RECORDS } from '../api/parts.ts'
import { proposed } from '../api/records.ts'
import { orNull, spanOf, timeText } from '../api/values.ts'
import { COUNTERS } from '../counters/counters.ts'
import { findKey, keyOf } from '../keys/operations.ts'
import { usageJson } from '../limits/limit-states.ts'
import { limitFields, OVERRIDE_FIELDS } from '../overrides/operations.ts'
import { CONSENT_FIELDS, requireConsent } from '../overrides/override-scope.ts'

const PARAM = { api_key: { schema: NAMED_API_KEY, doc: 'the API key itself' } } as const
/** More limits of one key's own than any API has endpoints that need one. */
const MAX_OVERRIDES = 100

const PLAIN = { requests_per_unit: needed(COUNT), unit: needed(WORDS) } as const
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
        object(PLAIN),
        'the plain limit: an override named default for every domain, or that of the tier',
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

type OfKey = Pick<Call, 'parts'> & { readonly params: { readonly api_key: string } }

async function findOwn(call: OfKey): Promise<ApiKey> {
  const found = await findKey(call.parts.get(RECORDS), call.parts.get(API_KEYS), call.params.api_key)
  if (found === undefined) throw new SluiceError('RECORD_UNKNOWN', 'quotas', 'nobody has this key')
  return found
}

async function overridesOf(call: Pick<Call, 'parts'>, keyId: string): Promise<readonly Override[]> {
  const { items } = await call.parts.get(RECORDS).list('overrides', { where: { keyId }, limit: MAX_OVERRIDES })
  return items
}

function quotaJson(call: OfKey, tier: string | undefined, overrides: readonly Override[], updatedAtMs: number) {
  const plain = ({ requestsPerUnit, unit }: { requestsPerUnit: number; unit: string }) => ({
    requests_per_unit: requestsPerUnit,
    unit,
  })
  const own = overrides.find(isPlain)
  const byDefault = own ?? call.parts.get(COUNTERS).defaultOf(tier)
  const others = overrides.filter((each) => !isPlain(each))
  return {
    api_key: call.params.api_key,
    tier: tier ?? null,
    quotas: {
      default: byDefault === undefined ? null : plain(byDefault),
      overrides: others.map((each) => ({
        descriptor: each.descriptor,
        ...plain(each),
        domain: orNull(each.domain),
        rule: orNull(each.rule),
      })),
    },
    updated_at: timeText(updatedAtMs),
  }
}

const isPlain = ({ descriptor, domain }: Override): boolean => descriptor === 'default' && domain === undefined

/** aboutOf tells apart what overrides of one key are about. */
const aboutOf = ({ descriptor, domain, rule }: Pick<Override, 'descriptor' | 'domain' | 'rule'>): string =>
  JSON.stringify([descriptor, domain, rule])

interface OwnChange {
  readonly table: 'api_keys' | 'overrides'
  readonly id: string
  readonly before: { readonly version: number } | undefined
  readonly record: unknown
}

const changeOf = ({ table, id, record }: OwnChange) => ({ table, id, record })

/** seenBy has the store ask for the versions again that this change was made of, where the caller named one. */
function seenBy({ version }: Pick<Call, 'version'>, { before }: OwnChange): { readonly version?: number } {
  return version === undefined ? {} : { version: before?.version ?? 0 }
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
    summary: 'give an API key a tier and limits of its own, in place of those it had; a key that is not known is added',
    params: PARAM,
    body: named(
      'QuotaFields',
      object({
        tier: optional(TIER_NAME),
        overrides: optional({ kind: 'list', max: MAX_OVERRIDES, of: object(OVERRIDE_FIELDS) }),
        ...CONSENT_FIELDS,
        ...SPAN,
        reason: optional(REASON),
      }),
    ),
    ifMatch: 'optional',
    answer: { status: 200, schema: changedAnswer('QuotaChanged', QUOTA_ANSWER) },
    errors: ['VERSION_STALE', 'OVERRIDE_SCOPE_UNKNOWN', 'OVERRIDE_SCOPE_NEEDED', 'OVERRIDE_LOWERS'],
    plan: async (call) => {
      const { body, nowMs, params } = call
      const quotas = call.parts.get(RECORDS)
      const hashes = call.parts.get(API_KEYS)
      const before = await findKey(quotas, hashes, params.api_key)
      if (call.version !== undefined && call.version !== (before?.version ?? 0)) {
        throw new SluiceError(
          'VERSION_STALE',
          'if-match',
          `got version ${call.version}, and it is ${before?.version ?? 0}`,
        )
      }
      const tier = body.tier === undefined ? before?.tier : (body.tier ?? undefined)
      const made = { apiKey: params.api_key, hashes, customerId: undefined, name: undefined, tier, nowMs }
      const key: ApiKey = before === undefined ? keyOf(made) : { ...before, tier }
      const old = before === undefined ? [] : await overridesOf(call, key.id)
      const common = {
        subject: { kind: 'key', keyId: key.id },
        ...spanOf(body, nowMs),
        reason: body.reason ?? undefined,
        ticket: undefined,
        updatedAtMs: nowMs,
      } as const
      const overrides = (body.overrides ?? []).map((each): Override => {
        const limit = limitFields(call.parts, each)
        // One that stays what it is about stays the same record.
        const same = old.find((other) => aboutOf(other) === aboutOf(limit))
        const { id = randomUUID(), version = 0, createdAtMs = nowMs } = same ?? {}
        return { id, ...common, ...limit, version, createdAtMs }
      })
      if (new Set(overrides.map(aboutOf)).size < overrides.length) {
        throw new SluiceError(
          'ADMIN_REQUEST_INVALID',
          'body.overrides',
          'a descriptor is given twice for the same rules',
        )
      }
      const gone = old.filter(({ id }) => !overrides.some((each) => each.id === id))
      const changes = [
        { table: 'api_keys', id: key.id, before, record: key },
        ...overrides.map((record) => ({
          table: 'overrides' as const,
          id: record.id,
          before: old.find(({ id }) => id === record.id),
          record,
        })),
        ...gone.map((each) => ({ table: 'overrides' as const, id: each.id, before: each, record: undefined })),
      ] as const
      const planned: Change = {
        changes: changes.map(({ table, id, before: was, record }) => proposed(table, id, was, record)),
        commit: async (by = call.by) => {
          await quotas.changeAll(
            changes.map((each) => ({ ...changeOf(each), ...seenBy(call, each) })),
            by,
          )
          return { body: quotaJson(call, await tierOf(call, key), overrides, nowMs) }
        },
      }
      const puts = overrides.map((after) => ({ before: old.find(({ id }) => id === after.id), after }))
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
      if (call.version !== undefined && call.version !== key.version) {
        throw new SluiceError('VERSION_STALE', 'if-match', `got version ${call.version}, and it is ${key.version}`)
      }
      const overrides = await overridesOf(call, key.id)
      const after = key.customerId === undefined ? undefined : { ...key, tier: undefined }
      const changes = [
        ...overrides.map((each) => ({ table: 'overrides' as const, id: each.id, before: each, record: undefined })),
        { table: 'api_keys' as const, id: key.id, before: key, record: after },
      ]
      return statingInForce(call, {
        changes: changes.map(({ table, id, before, record }) => proposed(table, id, before, record)),
        commit: async (by = call.by) => {
          await call.parts.get(RECORDS).changeAll(
            changes.map((each) => ({ ...changeOf(each), ...seenBy(call, each) })),
            by,
          )
          return {}
        },
      })
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
