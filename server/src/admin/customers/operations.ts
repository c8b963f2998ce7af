import type { Schema } from 'sluice/internal/core/schema/schema'
import { ID, named, needed, object, optional, TIER_NAME, text } from '../../records/forms.ts'
import { operation } from '../api/operation.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { RecordOperations } from '../api/record-operations.ts'
import { load, loadCustomer, recordReply } from '../api/records.ts'
import { COUNTERS } from '../counters/counters.ts'
import { LIMIT_STATES, limitsJson } from '../limits/limit-states.ts'
import { INCLUDE, INCLUDED, partsIn, readParts } from './customer-parts.ts'
import { customers } from './table.ts'

const CUSTOMERS = new RecordOperations({
  table: 'customers',
  tag: 'customers',
  path: '/customers',
  one: CUSTOMER_PARAM,
})

const CUSTOMER_WITH_PARTS = named(
  'CustomerWithParts',
  object({
    ...customers.answerFields,
    included: optional<Schema>(INCLUDED, 'what `include` names; absent without it'),
  }),
)

export const CUSTOMER_OPERATIONS = [
  CUSTOMERS.list({
    id: 'listCustomers',
    summary: 'customers, by id',
    query: {
      search: { schema: text(200), doc: 'the beginning of an id, a name or the prefix of a key' },
      tier: { schema: TIER_NAME, doc: 'customers of a tier' },
      status: { schema: { kind: 'choice', of: ['active', 'suspended'] }, doc: 'customers of a status' },
    },
    where: ({ query: { tier, status } }) => ({ tier, status }),
  }),
  CUSTOMERS.create({
    id: 'createCustomer',
    summary: 'make a customer',
    form: 'NewCustomer',
    answer: 'CustomerChanged',
    sent: { id: needed(ID) },
    errors: ['RECORD_EXISTS'],
    fixed: ({ body }) => ({ fields: { id: String(body.id) } }),
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
  CUSTOMERS.replace({
    id: 'replaceCustomer',
    summary: 'replace a customer: what is not given is as for a new one',
    form: 'CustomerFields',
    answer: 'CustomerChanged',
    fixed: ({ nowMs }) => ({ updatedAtMs: nowMs }),
  }),
  CUSTOMERS.change({
    id: 'changeCustomer',
    summary: 'change some fields of a customer; null takes a value away',
    form: 'CustomerFields',
    answer: 'CustomerChanged',
  }),
  CUSTOMERS.remove({
    id: 'removeCustomer',
    summary: 'remove a customer, with keys, overrides, grants and blocks',
    role: 'admin',
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
      const customerId = await loadCustomer(call)
      return { body: limitsJson(await call.parts.get(COUNTERS).limitsOf({ kind: 'customer', customerId })) }
    },
  }),
]
