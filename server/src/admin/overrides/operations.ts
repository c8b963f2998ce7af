import { randomUUID } from 'node:crypto'
import { ALGORITHM_NAMES, compileLimit } from 'sluice/internal/core/limit'
import type { ObjectValue } from 'sluice/internal/core/schema/schema'
import type { Override, Subject } from '../../quotas/model.ts'
import {
  COUNT,
  DESCRIPTOR,
  ID,
  named,
  needed,
  object,
  optional,
  pageOf,
  REASON,
  SPAN,
  TICKET,
  UNIT,
} from '../../records/forms.ts'
import { overrides } from '../../records/tables.ts'
import { changedAnswer, REMOVED, statingInForce } from '../api/in-force.ts'
import { operation } from '../api/operation.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import type { AdminParts } from '../api/parts.ts'
import { creation, listRecords, load, recordReply, removal, replacement } from '../api/records.ts'
import { spanOf, unknownRecord } from '../api/values.ts'
import { CONSENT_FIELDS, requireConsent, SCOPE_FIELDS, scopeFields } from './override-scope.ts'

const PARAM = { ...CUSTOMER_PARAM, override_id: { schema: ID, doc: 'the id of the override' } } as const

export const OVERRIDE_FIELDS = {
  descriptor: optional(DESCRIPTOR, '`default`, unless told otherwise, or such as `endpoint:POST /api/v1/orders`'),
  requests_per_unit: needed(COUNT),
  unit: needed(UNIT),
  algorithm: optional({ kind: 'choice', of: ALGORITHM_NAMES }, 'that of the rule, unless told otherwise'),
  burst: optional(COUNT),
  ...SCOPE_FIELDS,
} as const

const FIELDS = {
  ...OVERRIDE_FIELDS,
  ...CONSENT_FIELDS,
  api_key_id: optional(ID, "for one key of the customer's; left out: for all of them"),
  ticket: optional(TICKET),
  reason: optional(REASON),
  ...SPAN,
} as const

const FORM = named('OverrideFields', object(FIELDS))
const ANSWER = changedAnswer('OverrideChanged', overrides.answerFields)
const SCOPE_ERRORS = ['OVERRIDE_SCOPE_UNKNOWN', 'OVERRIDE_SCOPE_NEEDED', 'OVERRIDE_LOWERS'] as const

/** UNIT_WINDOWS are windows as long as a unit at least: enough to see whether a limit can be counted. */
const UNIT_WINDOWS = {
  second: '1s',
  minute: '1m',
  hour: '1h',
  day: '1d',
  week: '1w',
  month: '30d',
  year: '365d',
} as const

type GivenLimit = ObjectValue<typeof OVERRIDE_FIELDS>

/** limitFields reads the limit of an override. What no algorithm could count is refused here, not on every node later. */
export function limitFields(parts: AdminParts, given: GivenLimit) {
  const { descriptor, requests_per_unit, unit, algorithm, burst } = given
  compileLimit(
    {
      limit: requests_per_unit,
      ...(algorithm !== 'concurrency' && { window: UNIT_WINDOWS[unit] }),
      ...(algorithm && { algorithm }),
      ...(typeof burst === 'number' && { burst, algorithm: algorithm ?? 'token_bucket' }),
    },
    'body',
  )
  return {
    descriptor: descriptor ?? 'default',
    ...scopeFields(parts, given),
    requestsPerUnit: requests_per_unit,
    unit,
    algorithm: algorithm ?? undefined,
    burst: burst ?? undefined,
  }
}

function isOf({ subject }: Override, customerId: string, keys: ReadonlySet<string>): boolean {
  return subject.kind === 'customer' ? subject.customerId === customerId : keys.has(subject.keyId)
}

type InCustomer = Parameters<typeof load>[0] & { readonly params: { readonly customer_id: string } }

/** ofCustomer returns an override, if it is one of the customer or of a key of theirs. */
async function ofCustomer(call: InCustomer, id: string): Promise<Override> {
  const found = await load(call, 'overrides', id)
  const { subject } = found
  const { customer_id } = call.params
  const key = subject.kind === 'key' ? await load(call, 'api_keys', subject.keyId) : undefined
  const keys = new Set(key?.customerId === customer_id ? [key.id] : [])
  if (!isOf(found, customer_id, keys)) throw unknownRecord('overrides', id)
  return found
}

async function subjectOf(call: InCustomer, keyId: string | null | undefined): Promise<Subject> {
  const { customer_id: customerId } = call.params
  await load(call, 'customers', customerId)
  if (!keyId) return { kind: 'customer', customerId }
  const key = await load(call, 'api_keys', keyId)
  if (key.customerId !== customerId) throw unknownRecord('api_keys', keyId)
  return { kind: 'key', keyId }
}

export const OVERRIDE_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listOverrides',
    method: 'GET',
    path: '/customers/{customer_id}/overrides',
    tag: 'overrides',
    role: 'viewer',
    summary: "limits of a customer's own",
    params: CUSTOMER_PARAM,
    query: { api_key_id: { schema: ID, doc: 'those of one key; left out: those for all keys' } },
    isPaged: true,
    answer: { status: 200, schema: pageOf(overrides.answer) },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const subject = await subjectOf(call, call.query.api_key_id)
      const where = subject.kind === 'key' ? { keyId: subject.keyId } : { customerId: subject.customerId }
      return listRecords(call, 'overrides', where)
    },
  }),
  operation({
    kind: 'change',
    id: 'createOverride',
    method: 'POST',
    path: '/customers/{customer_id}/overrides',
    tag: 'overrides',
    role: 'operator',
    summary: 'give a customer, or one key, a limit of its own',
    params: CUSTOMER_PARAM,
    body: FORM,
    isCreation: true,
    answer: { status: 201, schema: ANSWER, etag: true },
    errors: ['RECORD_UNKNOWN', 'RECORD_EXISTS', ...SCOPE_ERRORS],
    plan: async (call) => {
      const { body, nowMs } = call
      const record: Override = {
        id: randomUUID(),
        subject: await subjectOf(call, body.api_key_id),
        ...limitFields(call.parts, body),
        ...spanOf(body, nowMs),
        reason: body.reason ?? undefined,
        ticket: body.ticket ?? undefined,
        version: 0,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      }
      const planned = creation(call, { table: 'overrides', id: record.id }, record)
      return statingInForce(call, planned, requireConsent([{ before: undefined, after: record }], body))
    },
  }),
  operation({
    kind: 'look',
    id: 'readOverride',
    method: 'GET',
    path: '/customers/{customer_id}/overrides/{override_id}',
    tag: 'overrides',
    role: 'viewer',
    summary: 'one override',
    params: PARAM,
    answer: { status: 200, schema: overrides.answer, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => recordReply(call, 'overrides', await ofCustomer(call, call.params.override_id)),
  }),
  operation({
    kind: 'change',
    id: 'replaceOverride',
    method: 'PUT',
    path: '/customers/{customer_id}/overrides/{override_id}',
    tag: 'overrides',
    role: 'operator',
    summary: 'replace an override; what was used stays used',
    params: PARAM,
    body: FORM,
    ifMatch: 'required',
    answer: { status: 200, schema: ANSWER, etag: true },
    errors: ['RECORD_UNKNOWN', ...SCOPE_ERRORS],
    plan: async (call) => {
      const { body, nowMs } = call
      const before = await ofCustomer(call, call.params.override_id)
      const after: Override = {
        ...before,
        subject: await subjectOf(call, body.api_key_id),
        ...limitFields(call.parts, body),
        ...spanOf({ ...body, effective_at: body.effective_at ?? new Date(before.effectiveAtMs).toISOString() }, nowMs),
        reason: body.reason ?? undefined,
        ticket: body.ticket ?? undefined,
      }
      const planned = replacement(call, { table: 'overrides', id: before.id }, (found) => ({
        ...after,
        version: found.version,
      }))
      return statingInForce(call, planned, requireConsent([{ before, after }], body))
    },
  }),
  operation({
    kind: 'change',
    id: 'removeOverride',
    method: 'DELETE',
    path: '/customers/{customer_id}/overrides/{override_id}',
    tag: 'overrides',
    role: 'operator',
    summary: 'remove an override: the tier, or the rule, applies again',
    params: PARAM,
    ifMatch: 'required',
    answer: { status: 200, schema: REMOVED },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const found = await ofCustomer(call, call.params.override_id)
      return statingInForce(call, removal(call, { table: 'overrides', id: found.id }, found))
    },
  }),
]
