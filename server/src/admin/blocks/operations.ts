import { randomUUID } from 'node:crypto'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { parseCidr } from 'sluice/internal/core/identity/ip'
import type { Block } from '../../quotas/model.ts'
import { API_KEY, ID, named, object, optional, pageOf, REASON, SPAN, text } from '../../records/forms.ts'
import { blocks } from '../../records/tables.ts'
import { type Call, operation } from '../api/operation.ts'
import { API_KEYS, RECORDS } from '../api/parts.ts'
import { creation, listRecords, load, recordReply, removal } from '../api/records.ts'
import { invalid, spanOf } from '../api/values.ts'
import { findKey } from '../keys/operations.ts'

const PARAM = { block_id: { schema: ID, doc: 'the id of the block' } } as const

interface Target {
  readonly customer_id?: string | null | undefined
  readonly api_key_id?: string | null | undefined
  readonly api_key?: string | null | undefined
  readonly cidr?: string | null | undefined
}

/** subjectOf says who is to be blocked: exactly one is named. */
async function subjectOf(call: Pick<Call, 'parts'>, target: Target): Promise<Block['subject']> {
  const { customer_id, api_key_id, api_key, cidr } = target
  if ([customer_id, api_key_id, api_key, cidr].filter((each) => typeof each === 'string').length !== 1) {
    throw invalid('body', 'one of customer_id, api_key_id, api_key and cidr is given')
  }
  if (customer_id) return { kind: 'customer', customerId: (await load(call, 'customers', customer_id)).id }
  if (api_key_id) return { kind: 'key', keyId: (await load(call, 'api_keys', api_key_id)).id }
  if (api_key) {
    const found = await findKey(call.parts.get(RECORDS), call.parts.get(API_KEYS), api_key)
    if (found === undefined) throw new SluiceError('RECORD_UNKNOWN', 'api_keys', 'nobody has this key')
    return { kind: 'key', keyId: found.id }
  }
  const block = cidr ?? ''
  if (parseCidr(block) === undefined) throw new SluiceError('RULE_CIDR_INVALID', 'body.cidr', got(block))
  return { kind: 'cidr', cidr: block }
}

export const BLOCK_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listBlocks',
    method: 'GET',
    path: '/blocks',
    tag: 'blocks',
    role: 'viewer',
    summary: 'who is blocked',
    query: {
      customer_id: { schema: ID, doc: 'blocks of a customer' },
      api_key_id: { schema: ID, doc: 'blocks of a key' },
    },
    isPaged: true,
    answer: { status: 200, schema: pageOf(blocks.answer) },
    run: (call) => listRecords(call, 'blocks', { customerId: call.query.customer_id, keyId: call.query.api_key_id }),
  }),
  operation({
    kind: 'change',
    id: 'createBlock',
    method: 'POST',
    path: '/blocks',
    tag: 'blocks',
    role: 'operator',
    summary: 'refuse everything of a customer, a key or an address range',
    body: named(
      'NewBlock',
      object({
        customer_id: optional(ID),
        api_key_id: optional(ID),
        api_key: optional(API_KEY, 'the key itself; it is not kept'),
        cidr: optional(text(64), 'such as 198.51.100.0/24'),
        status: optional({ kind: 'integer', min: 400, max: 599 }, '403, unless told otherwise'),
        body: optional(text(4_096), 'what the caller is answered'),
        reason: optional(REASON),
        ...SPAN,
      }),
    ),
    isCreation: true,
    answer: { status: 201, schema: blocks.answer, etag: true },
    errors: ['RECORD_UNKNOWN', 'RULE_CIDR_INVALID'],
    plan: async (call) => {
      const { body, nowMs } = call
      const record: Block = {
        id: randomUUID(),
        subject: await subjectOf(call, body),
        reason: body.reason ?? undefined,
        status: body.status ?? 403,
        body: body.body ?? undefined,
        ...spanOf(body, nowMs),
        version: 0,
        createdAtMs: nowMs,
      }
      return creation(call, { table: 'blocks', id: record.id }, record)
    },
  }),
  operation({
    kind: 'look',
    id: 'readBlock',
    method: 'GET',
    path: '/blocks/{block_id}',
    tag: 'blocks',
    role: 'viewer',
    summary: 'one block',
    params: PARAM,
    answer: { status: 200, schema: blocks.answer, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => recordReply(call, 'blocks', await load(call, 'blocks', call.params.block_id)),
  }),
  operation({
    kind: 'change',
    id: 'removeBlock',
    method: 'DELETE',
    path: '/blocks/{block_id}',
    tag: 'blocks',
    role: 'operator',
    summary: 'end a block at once',
    params: PARAM,
    ifMatch: 'optional',
    answer: { status: 204 },
    errors: ['RECORD_UNKNOWN'],
    plan: (call) => removal(call, { table: 'blocks', id: call.params.block_id }),
  }),
]
