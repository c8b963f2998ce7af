import { randomUUID } from 'node:crypto'
import { got, SluiceError } from 'sluice/internal/core/errors'
import { parseCidr } from 'sluice/internal/core/identity/ip'
import type { Block } from '../../quotas/model.ts'
import { API_KEY, ID, optional, text } from '../../records/forms.ts'
import { idParam, type RecordCall, RecordOperations } from '../api/record-operations.ts'
import { load } from '../api/records.ts'
import { invalid } from '../api/values.ts'
import { findKey } from '../keys/find-key.ts'

const BLOCKS = new RecordOperations({
  table: 'blocks',
  tag: 'blocks',
  path: '/blocks',
  one: idParam('block_id', 'the id of the block'),
})

/** Reads who is to be blocked: exactly one is named. */
async function subjectOf(call: RecordCall): Promise<Block['subject']> {
  const { customer_id, api_key_id, api_key, cidr } = call.body as Readonly<Record<string, string | null | undefined>>
  if ([customer_id, api_key_id, api_key, cidr].filter((each) => typeof each === 'string').length !== 1) {
    throw invalid('body', 'one of customer_id, api_key_id, api_key and cidr is given')
  }
  if (customer_id) return { kind: 'customer', customerId: (await load(call, 'customers', customer_id)).id }
  if (api_key_id) return { kind: 'key', keyId: (await load(call, 'api_keys', api_key_id)).id }
  if (api_key) return { kind: 'key', keyId: (await findKey(call, api_key, 'api_keys')).id }
  const block = cidr ?? ''
  if (parseCidr(block) === undefined) throw new SluiceError('RULE_CIDR_INVALID', 'body.cidr', got(block))
  return { kind: 'cidr', cidr: block }
}

export const BLOCK_OPERATIONS = [
  BLOCKS.list({
    id: 'listBlocks',
    summary: 'who is blocked',
    query: {
      customer_id: { schema: ID, doc: 'blocks of a customer' },
      api_key_id: { schema: ID, doc: 'blocks of a key' },
    },
    where: ({ query }) => ({ customerId: query.customer_id, keyId: query.api_key_id }),
  }),
  BLOCKS.create({
    id: 'createBlock',
    summary: 'refuse everything of a customer, a key or an address range',
    form: 'NewBlock',
    sent: {
      customer_id: optional(ID),
      api_key_id: optional(ID),
      api_key: optional(API_KEY, 'the key itself; it is not kept'),
      cidr: optional(text(64), 'such as 198.51.100.0/24'),
    },
    errors: ['RECORD_UNKNOWN', 'RULE_CIDR_INVALID'],
    fixed: async (call) => ({ fields: { id: randomUUID(), subject: await subjectOf(call) } }),
  }),
  BLOCKS.read({ id: 'readBlock', summary: 'one block' }),
  BLOCKS.remove({ id: 'removeBlock', summary: 'end a block immediately', ifMatch: 'optional' }),
]
