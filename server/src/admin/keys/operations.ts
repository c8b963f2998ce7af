import { randomBytes } from 'node:crypto'
import { SluiceError } from 'sluice/internal/core/errors'
import { API_KEY, orNull as nullable, optional, WORDS } from '../../records/forms.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { idParam, type RecordCall, RecordOperations } from '../api/record-operations.ts'
import { loadCustomer } from '../api/records.ts'
import { keyFields, keyInUse } from './find-key.ts'

const KEYS = new RecordOperations({
  table: 'api_keys',
  tag: 'keys',
  path: '/customers/{customer_id}/keys',
  params: CUSTOMER_PARAM,
  one: idParam('key_id', 'the id of the key, not the key'),
  owns: ({ customerId }, { params }) => customerId === params.customer_id,
})

async function newKey(call: RecordCall) {
  const customerId = await loadCustomer(call)
  const given = call.body.key as string | null | undefined
  const apiKey = given ?? `sk_${randomBytes(24).toString('base64url')}`
  if ((await keyInUse(call, apiKey)) !== undefined) {
    throw new SluiceError('RECORD_EXISTS', 'api_keys', 'the key is in use')
  }
  return { fields: { ...keyFields(call, apiKey), customerId }, shown: { key: given ? null : apiKey } }
}

export const KEY_OPERATIONS = [
  KEYS.list({
    id: 'listKeys',
    summary: 'the API keys of a customer, revoked ones included',
    errors: ['RECORD_UNKNOWN'],
    where: async (call) => ({ customerId: await loadCustomer(call) }),
  }),
  KEYS.create({
    id: 'createKey',
    summary: 'add an API key: one of yours, or one that is made here and shown once',
    form: 'NewKey',
    answer: 'NewApiKey',
    sent: { key: optional(API_KEY, 'a key that you have; left out, one is made') },
    answered: { key: nullable(WORDS, 'the key itself, if it was made here: shown this once') },
    errors: ['RECORD_UNKNOWN', 'RECORD_EXISTS'],
    fixed: newKey,
  }),
  KEYS.read({ id: 'readKey', summary: 'one API key' }),
  KEYS.remove({
    id: 'revokeKey',
    summary: 'revoke an API key: it leads to no customer any more',
    kept: ({ nowMs }, before) => ({ ...before, revokedAtMs: before.revokedAtMs ?? nowMs }),
  }),
]
