import type { ObjectValue, Schema } from 'sluice/internal/core/schema/schema'
import type { Customer } from '../../quotas/model.ts'
import {
  DATE,
  ID,
  METADATA,
  named,
  needed,
  object,
  optional,
  pageOf,
  REASON,
  TIER_NAME,
  text,
} from '../../records/forms.ts'
import { customers } from '../../records/tables.ts'
import { changedAnswer, statingInForce } from '../api/in-force.ts'
import { operation } from '../api/operation.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { creation, listRecords, load, recordReply, removal, replacement } from '../api/records.ts'
import { checkedDay, checkedTimeZone, invalid } from '../api/values.ts'
import { COUNTERS } from '../counters/counters.ts'
import { LIMIT_STATES, limitsJson } from '../limits/limit-states.ts'
import { INCLUDE, INCLUDED, partsIn, readParts } from './customer-parts.ts'

const STATUS = { kind: 'choice', of: ['active', 'suspended'] } as const
const MAX_METADATA = 50

const FIELDS = {
  name: optional(text(200), 'the id, unless told otherwise'),
  tier: optional(TIER_NAME),
  status: optional(STATUS),
  time_zone: optional(text(64), 'an IANA name; UTC unless told otherwise'),
  period_anchor: optional(DATE, 'the first day of a period'),
  metadata: optional(METADATA, 'free, at most 50 values: a billing id, a sales contact'),
  reason: optional(REASON, 'why; for the audit log'),
} as const

const NEW_CUSTOMER = named('NewCustomer', object({ id: needed(ID), ...FIELDS }))
const CUSTOMER_FIELDS = named('CustomerFields', object(FIELDS))

const CHANGED = changedAnswer('CustomerChanged', customers.answerFields)

type Given = ObjectValue<typeof FIELDS>

const CUSTOMER_WITH_PARTS = named(
  'CustomerWithParts',
  object({
    ...customers.answerFields,
    included: optional<Schema>(INCLUDED, 'what `include` names; absent without it'),
  }),
)

/** customerOf makes a customer of what was given, and of `base` for the rest. */
function customerOf(given: Given, base: Customer): Customer {
  const { name, tier, status, time_zone, period_anchor, metadata } = given
  if (Object.keys(metadata ?? {}).length > MAX_METADATA)
    throw invalid('body.metadata', `more than ${MAX_METADATA} values`)
  return {
    ...base,
    name: name ?? base.name,
    // null takes the tier away, what is not given leaves it.
    tier: tier === undefined ? base.tier : (tier ?? undefined),
    status: status ?? base.status,
    timeZone: typeof time_zone === 'string' ? checkedTimeZone(time_zone) : base.timeZone,
    periodAnchor: period_anchor === undefined ? base.periodAnchor : checkedDay(period_anchor),
    metadata: metadata ?? base.metadata,
  }
}

function blank(id: string, nowMs: number): Customer {
  return {
    id,
    name: id,
    tier: undefined,
    status: 'active',
    timeZone: 'UTC',
    periodAnchor: undefined,
    metadata: {},
    version: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
}

export const CUSTOMER_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listCustomers',
    method: 'GET',
    path: '/customers',
    tag: 'customers',
    role: 'viewer',
    summary: 'customers, by id',
    query: {
      search: { schema: text(200), doc: 'the beginning of an id, a name or the prefix of a key' },
      tier: { schema: TIER_NAME, doc: 'those of a tier' },
      status: { schema: STATUS, doc: 'those of a status' },
    },
    isPaged: true,
    answer: { status: 200, schema: pageOf(customers.answer) },
    run: (call) => {
      const { tier, status, search } = call.query
      return listRecords(call, 'customers', { tier, status }, search)
    },
  }),
  operation({
    kind: 'change',
    id: 'createCustomer',
    method: 'POST',
    path: '/customers',
    tag: 'customers',
    role: 'operator',
    summary: 'make a customer',
    body: NEW_CUSTOMER,
    isCreation: true,
    answer: { status: 201, schema: CHANGED, etag: true },
    errors: ['RECORD_EXISTS'],
    plan: (call) => {
      const { id, ...given } = call.body
      return statingInForce(call, creation(call, { table: 'customers', id }, customerOf(given, blank(id, call.nowMs))))
    },
  }),
  operation({
    kind: 'look',
    id: 'readCustomer',
    method: 'GET',
    path: '/customers/{customer_id}',
    tag: 'customers',
    role: 'viewer',
    summary: 'one customer, and with `include` all that is known of it in one answer',
    params: CUSTOMER_PARAM,
    query: { include: INCLUDE },
    answer: { status: 200, schema: CUSTOMER_WITH_PARTS, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { params, query } = call
      const names = query.include === undefined ? [] : partsIn(query.include)
      const reply = recordReply(call, 'customers', await load(call, 'customers', params.customer_id))
      if (names.length === 0) return reply
      const included = await readParts(call, params.customer_id, names)
      return { ...reply, body: { ...(reply.body as object), included } }
    },
  }),
  operation({
    kind: 'change',
    id: 'replaceCustomer',
    method: 'PUT',
    path: '/customers/{customer_id}',
    tag: 'customers',
    role: 'operator',
    summary: 'replace a customer: what is not given is as for a new one',
    params: CUSTOMER_PARAM,
    body: CUSTOMER_FIELDS,
    ifMatch: 'required',
    answer: { status: 200, schema: CHANGED, etag: true },
    errors: ['RECORD_UNKNOWN'],
    plan: (call) => {
      const { customer_id } = call.params
      const planned = replacement(call, { table: 'customers', id: customer_id }, ({ createdAtMs, version }) =>
        customerOf(call.body, { ...blank(customer_id, call.nowMs), createdAtMs, version }),
      )
      return statingInForce(call, planned)
    },
  }),
  operation({
    kind: 'change',
    id: 'changeCustomer',
    method: 'PATCH',
    path: '/customers/{customer_id}',
    tag: 'customers',
    role: 'operator',
    summary: 'change some fields of a customer; null takes a value away',
    params: CUSTOMER_PARAM,
    body: CUSTOMER_FIELDS,
    ifMatch: 'required',
    answer: { status: 200, schema: CHANGED, etag: true },
    errors: ['RECORD_UNKNOWN'],
    plan: (call) => {
      const target = { table: 'customers', id: call.params.customer_id } as const
      return statingInForce(
        call,
        replacement(call, target, (before) => customerOf(call.body, before)),
      )
    },
  }),
  operation({
    kind: 'change',
    id: 'removeCustomer',
    method: 'DELETE',
    path: '/customers/{customer_id}',
    tag: 'customers',
    role: 'admin',
    summary: 'remove a customer, with keys, overrides, grants and blocks',
    params: CUSTOMER_PARAM,
    ifMatch: 'required',
    answer: { status: 204 },
    errors: ['RECORD_UNKNOWN'],
    plan: (call) => removal(call, { table: 'customers', id: call.params.customer_id }),
  }),
  operation({
    kind: 'look',
    id: 'readCustomerLimits',
    method: 'GET',
    path: '/customers/{customer_id}/limits',
    tag: 'customers',
    role: 'viewer',
    summary: 'every limit of a customer: used, left, when it resets, and where the number comes from',
    params: CUSTOMER_PARAM,
    answer: { status: 200, schema: LIMIT_STATES },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { customer_id: customerId } = call.params
      await load(call, 'customers', customerId)
      const limits = await call.parts.get(COUNTERS).limitsOf({ kind: 'customer', customerId })
      return { body: limitsJson(limits) }
    },
  }),
]
