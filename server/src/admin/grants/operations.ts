import { randomUUID } from 'node:crypto'
import { CUSTOMER_PARAM } from '../api/params.ts'
import { idParam, RecordOperations } from '../api/record-operations.ts'
import { loadCustomer } from '../api/records.ts'

const GRANTS = new RecordOperations({
  table: 'grants',
  tag: 'grants',
  path: '/customers/{customer_id}/grants',
  params: CUSTOMER_PARAM,
  one: idParam('grant_id', 'the id of the grant'),
  owns: ({ customerId }, { params }) => customerId === params.customer_id,
})

export const GRANT_OPERATIONS = [
  GRANTS.list({
    id: 'listGrants',
    summary: 'extra budget of a customer',
    errors: ['RECORD_UNKNOWN'],
    where: async (call) => ({ customerId: await loadCustomer(call) }),
  }),
  GRANTS.create({
    id: 'createGrant',
    summary: 'give a customer extra budget, once',
    form: 'NewGrant',
    answer: 'GrantMade',
    errors: ['RECORD_UNKNOWN', 'RECORD_EXISTS'],
    fixed: async (call) => ({ fields: { id: randomUUID(), customerId: await loadCustomer(call) } }),
  }),
  GRANTS.read({ id: 'readGrant', summary: 'one grant' }),
  GRANTS.remove({ id: 'removeGrant', summary: 'take back what remains of a grant', statesRules: true }),
]
