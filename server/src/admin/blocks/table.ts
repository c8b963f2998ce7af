import { count, optional, text } from '../../records/field.ts'
import { REASON, text as textForm, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import {
  blockedSubject,
  CREATED,
  customerOfSubject,
  id,
  OF_SUBJECT,
  requireSpan,
  SPAN,
  VERSION,
} from '../../records/shared-fields.ts'

/** A Block refuses everything of a customer, a key or an address range. */
export const blocks = recordTable({
  table: 'sluice.blocks',
  schemaName: 'Block',
  fields: {
    id: id(),
    subject: blockedSubject(),
    reason: optional(text(REASON, { by: 'caller' })),
    status: count({ kind: 'integer', min: 400, max: 599 }, { by: 'caller', doc: '403 by default', initial: 403 }),
    body: optional(text(WORDS, { by: 'caller', sent: textForm(4_096), doc: 'what the caller is answered' })),
    ...SPAN,
    ...VERSION,
    ...CREATED,
  },
  filters: { ...OF_SUBJECT, cidr: 'cidr' },
  searched: ['customer_id', 'cidr'],
  customerOf: customerOfSubject,
  check: requireSpan,
})
