import { randomUUID } from 'node:crypto'
import type { Subject } from '../../quotas/model.ts'
import { ID, optional } from '../../records/forms.ts'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { idParam, type RecordCall, RecordOperations } from '../api/record-operations.ts'
import { load, loadCustomer } from '../api/records.ts'
import { unknownRecord } from '../api/values.ts'
import { CONSENT_FIELDS, checkOverride } from './override-scope.ts'

const OVERRIDES = new RecordOperations({
  table: 'overrides',
  tag: 'overrides',
  path: '/customers/{customer_id}/overrides',
  params: CUSTOMER_PARAM,
  one: idParam('override_id', 'the id of the override'),
  owns: async ({ subject }, call) => {
    const owner = subject.kind === 'customer' ? subject : await load(call, 'api_keys', subject.keyId)
    return owner.customerId === call.params.customer_id
  },
})

/** Whom an override is about: the customer of the path, or one of its keys. */
async function subjectOf(call: RecordCall, keyId: unknown): Promise<Subject> {
  const customerId = await loadCustomer(call)
  if (typeof keyId !== 'string') return { kind: 'customer', customerId }
  const key = await load(call, 'api_keys', keyId)
  if (key.customerId !== customerId) throw unknownRecord('api_keys', keyId)
  return { kind: 'key', keyId }
}

const FORM = {
  form: 'OverrideFields',
  answer: 'OverrideChanged',
  sent: { ...CONSENT_FIELDS, api_key_id: optional(ID, "for one key of the customer's; for all of them by default") },
} as const

const SCOPE_ERRORS = ['OVERRIDE_SCOPE_UNKNOWN', 'OVERRIDE_SCOPE_NEEDED', 'OVERRIDE_LOWERS'] as const

export const OVERRIDE_OPERATIONS = [
  OVERRIDES.list({
    id: 'listOverrides',
    summary: "limits of a customer's own",
    query: { api_key_id: { schema: ID, doc: 'overrides of one key; left out: overrides for all keys' } },
    errors: ['RECORD_UNKNOWN'],
    where: async (call) => {
      const subject = await subjectOf(call, call.query.api_key_id)
      return subject.kind === 'key' ? { keyId: subject.keyId } : { customerId: subject.customerId }
    },
  }),
  OVERRIDES.create({
    ...FORM,
    id: 'createOverride',
    summary: 'give a customer, or one key, an individual limit',
    errors: ['RECORD_UNKNOWN', 'RECORD_EXISTS', ...SCOPE_ERRORS],
    fixed: async (call) => ({ fields: { id: randomUUID(), subject: await subjectOf(call, call.body.api_key_id) } }),
    check: checkOverride,
  }),
  OVERRIDES.read({ id: 'readOverride', summary: 'one override' }),
  OVERRIDES.replace({
    ...FORM,
    id: 'replaceOverride',
    summary: 'replace an override; what was used stays used',
    errors: SCOPE_ERRORS,
    fixed: async (call) => ({ subject: await subjectOf(call, call.body.api_key_id) }),
    check: checkOverride,
  }),
  OVERRIDES.remove({
    id: 'removeOverride',
    summary: 'remove an override: the tier, or the rule, applies again',
    statesRules: true,
  }),
]
