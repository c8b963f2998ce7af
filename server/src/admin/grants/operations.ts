import { randomUUID } from 'node:crypto'
import type { Grant } from '../../quotas/model.ts'
import { DESCRIPTOR, ID, named, needed, object, optional, pageOf, REASON, SPAN, TICKET } from '../../records/forms.ts'
import { grants } from '../../records/tables.ts'
import { changedAnswer, REMOVED, statingInForce } from '../api/in-force.ts'
import { operation } from '../api/operation.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { creation, listRecords, load, recordReply, removal } from '../api/records.ts'
import { spanOf, unknownRecord } from '../api/values.ts'

const PARAM = { ...CUSTOMER_PARAM, grant_id: { schema: ID, doc: 'the id of the grant' } } as const

type InCustomer = Parameters<typeof load>[0] & { readonly params: { readonly customer_id: string } }

async function ofCustomer(call: InCustomer, id: string): Promise<Grant> {
  const found = await load(call, 'grants', id)
  if (found.customerId !== call.params.customer_id) throw unknownRecord('grants', id)
  return found
}

export const GRANT_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listGrants',
    method: 'GET',
    path: '/customers/{customer_id}/grants',
    tag: 'grants',
    role: 'viewer',
    summary: 'extra budget of a customer',
    params: CUSTOMER_PARAM,
    isPaged: true,
    answer: { status: 200, schema: pageOf(grants.answer) },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      await load(call, 'customers', call.params.customer_id)
      return listRecords(call, 'grants', { customerId: call.params.customer_id })
    },
  }),
  operation({
    kind: 'change',
    id: 'createGrant',
    method: 'POST',
    path: '/customers/{customer_id}/grants',
    tag: 'grants',
    role: 'operator',
    summary: 'give a customer extra budget, once',
    params: CUSTOMER_PARAM,
    body: named(
      'NewGrant',
      object({
        amount: needed({ kind: 'integer', min: 1, max: 4_294_967_295 }),
        descriptor: optional(DESCRIPTOR, '`default`, unless told otherwise'),
        ticket: optional(TICKET),
        reason: optional(REASON),
        ...SPAN,
      }),
    ),
    isCreation: true,
    answer: { status: 201, schema: changedAnswer('GrantMade', grants.answerFields), etag: true },
    errors: ['RECORD_UNKNOWN', 'RECORD_EXISTS'],
    plan: async (call) => {
      const { body, nowMs } = call
      await load(call, 'customers', call.params.customer_id)
      const record: Grant = {
        id: randomUUID(),
        customerId: call.params.customer_id,
        descriptor: body.descriptor ?? 'default',
        amount: body.amount,
        ...spanOf(body, nowMs),
        reason: body.reason ?? undefined,
        ticket: body.ticket ?? undefined,
        version: 0,
        createdAtMs: nowMs,
      }
      return statingInForce(call, creation(call, { table: 'grants', id: record.id }, record))
    },
  }),
  operation({
    kind: 'look',
    id: 'readGrant',
    method: 'GET',
    path: '/customers/{customer_id}/grants/{grant_id}',
    tag: 'grants',
    role: 'viewer',
    summary: 'one grant',
    params: PARAM,
    answer: { status: 200, schema: grants.answer, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => recordReply(call, 'grants', await ofCustomer(call, call.params.grant_id)),
  }),
  operation({
    kind: 'change',
    id: 'removeGrant',
    method: 'DELETE',
    path: '/customers/{customer_id}/grants/{grant_id}',
    tag: 'grants',
    role: 'operator',
    summary: 'take back what is left of a grant',
    params: PARAM,
    ifMatch: 'required',
    answer: { status: 200, schema: REMOVED },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const found = await ofCustomer(call, call.params.grant_id)
      return statingInForce(call, removal(call, { table: 'grants', id: found.id }, found))
    },
  }),
]
