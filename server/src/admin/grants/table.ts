import { count, text } from '../../records/field.ts'
import { COUNT, DESCRIPTOR, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import { CREATED, id, requireSpan, SPAN, VERSION, WHY } from '../../records/shared-fields.ts'

/** A Grant is extra budget, once: it is used when the customer's limit has none left, the first to expire first. */
export const grants = recordTable({
  table: 'sluice.grants',
  schemaName: 'Grant',
  fields: {
    id: id(),
    customerId: text(WORDS),
    descriptor: text(DESCRIPTOR, { by: 'caller', doc: '`default` by default', initial: 'default' }),
    amount: count(COUNT, { by: 'caller', sent: { kind: 'integer', min: 1, max: COUNT.max } }),
    ...WHY,
    ...SPAN,
    ...VERSION,
    ...CREATED,
  },
  filters: { customerId: 'customer_id', descriptor: 'descriptor', ticket: 'ticket' },
  searched: ['customer_id'],
  customerOf: ({ customerId }) => customerId,
  check: requireSpan,
})
