import { randomBytes, randomUUID } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import type { ApiKey } from '../../quotas/model.ts'
import {
  API_KEY,
  ID,
  named,
  orNull as nullable,
  object,
  optional,
  pageOf,
  REASON,
  TIER_NAME,
  text,
  WORDS,
} from '../../records/forms.ts'
import { api_keys } from '../../records/tables.ts'
import { IN_FORCE_FIELDS, statingInForce } from '../api/in-force.ts'
import { operation } from '../api/operation.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { API_KEYS, type KeyHash, RECORDS, type Records } from '../api/parts.ts'
import { creation, listRecords, load, recordReply, replacement } from '../api/records.ts'
import { unknownRecord } from '../api/values.ts'

const KEY_PARAM = { ...CUSTOMER_PARAM, key_id: { schema: ID, doc: 'the id of the key, not the key' } } as const
const NEW_KEY = named(
  'NewApiKey',
  object({
    ...api_keys.answerFields,
    key: nullable(WORDS, 'the key itself, if it was made here: shown this once'),
    ...IN_FORCE_FIELDS,
  }),
)
const SHOWN_CHARACTERS = 8

/** shownPrefix is what people see of a key. Of a short one it is less, so that the rest cannot be guessed. */
export function shownPrefix(apiKey: string): string {
  return apiKey.slice(0, Math.min(SHOWN_CHARACTERS, Math.floor(apiKey.length / 4)))
}

/** findKey returns the record of an API key that is in use. */
export async function findKey(quotas: Records, hashes: KeyHash, apiKey: string): Promise<ApiKey | undefined> {
  const { items } = await quotas.list('api_keys', { where: { hash: hashes.hash(apiKey) }, limit: 1 })
  return items.find(({ revokedAtMs }) => revokedAtMs === undefined)
}

interface KeyFields {
  readonly apiKey: string
  readonly hashes: KeyHash
  readonly customerId: string | undefined
  readonly name: string | undefined
  readonly tier: string | undefined
  readonly nowMs: number
}

/** keyOf is the record of a new API key. */
export function keyOf({ apiKey, hashes, customerId, name, tier, nowMs }: KeyFields): ApiKey {
  const prefix = shownPrefix(apiKey)
  return {
    id: randomUUID(),
    hash: hashes.hash(apiKey),
    prefix,
    customerId,
    name: name ?? prefix,
    tier,
    version: 0,
    createdAtMs: nowMs,
    revokedAtMs: undefined,
  }
}

export const KEY_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listKeys',
    method: 'GET',
    path: '/customers/{customer_id}/keys',
    tag: 'keys',
    role: 'viewer',
    summary: 'the API keys of a customer, revoked ones included',
    params: CUSTOMER_PARAM,
    isPaged: true,
    answer: { status: 200, schema: pageOf(api_keys.answer) },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      await load(call, 'customers', call.params.customer_id)
      return listRecords(call, 'api_keys', { customerId: call.params.customer_id })
    },
  }),
  operation({
    kind: 'change',
    id: 'createKey',
    method: 'POST',
    path: '/customers/{customer_id}/keys',
    tag: 'keys',
    role: 'operator',
    summary: 'add an API key: one of yours, or one that is made here and shown once',
    params: CUSTOMER_PARAM,
    body: named(
      'NewKey',
      object({
        key: optional(API_KEY, 'a key that you have; left out, one is made'),
        name: optional(text(200)),
        tier: optional(TIER_NAME, "the key's own tier, which comes before the customer's"),
        reason: optional(REASON),
      }),
    ),
    isCreation: true,
    answer: { status: 201, schema: NEW_KEY, etag: true },
    errors: ['RECORD_UNKNOWN', 'RECORD_EXISTS'],
    plan: async (call) => {
      const { customer_id: customerId } = call.params
      await load(call, 'customers', customerId)
      const { key, name, tier } = call.body
      const hashes = call.parts.get(API_KEYS)
      const apiKey = key ?? `sk_${randomBytes(24).toString('base64url')}`
      if ((await findKey(call.parts.get(RECORDS), hashes, apiKey)) !== undefined) {
        throw new SluiceError('RECORD_EXISTS', 'api_keys', 'the key is in use')
      }
      const record = keyOf({
        apiKey,
        hashes,
        customerId,
        name: name ?? undefined,
        tier: tier ?? undefined,
        nowMs: call.nowMs,
      })
      const planned = creation(call, { table: 'api_keys', id: record.id }, record, (made) => ({
        body: { ...api_keys.toJson(made), key: key ? null : apiKey },
        version: made.version,
      }))
      return statingInForce(call, planned)
    },
  }),
  operation({
    kind: 'look',
    id: 'readKey',
    method: 'GET',
    path: '/customers/{customer_id}/keys/{key_id}',
    tag: 'keys',
    role: 'viewer',
    summary: 'one API key',
    params: KEY_PARAM,
    answer: { status: 200, schema: api_keys.answer, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const found = await load(call, 'api_keys', call.params.key_id)
      if (found.customerId !== call.params.customer_id) throw unknownRecord('api_keys', call.params.key_id)
      return recordReply(call, 'api_keys', found)
    },
  }),
  operation({
    kind: 'change',
    id: 'revokeKey',
    method: 'DELETE',
    path: '/customers/{customer_id}/keys/{key_id}',
    tag: 'keys',
    role: 'operator',
    summary: 'revoke an API key: it leads to no customer any more',
    params: KEY_PARAM,
    ifMatch: 'required',
    answer: { status: 200, schema: api_keys.answer, etag: true },
    errors: ['RECORD_UNKNOWN'],
    plan: (call) =>
      replacement(call, { table: 'api_keys', id: call.params.key_id }, (before) => {
        if (before.customerId !== call.params.customer_id) throw unknownRecord('api_keys', call.params.key_id)
        return { ...before, revokedAtMs: before.revokedAtMs ?? call.nowMs }
      }),
  }),
]
