import { SluiceError } from 'sluice/internal/core/errors'
import { choice, optional, text, value } from '../../records/field.ts'
import { DATE, METADATA, text as textForm, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import { CREATED, id, readDay, readTimeZone, tier, UPDATED, VERSION } from '../../records/shared-fields.ts'

const STATUS = { kind: 'choice', of: ['active', 'suspended'] } as const
const NOTHING: Readonly<Record<string, string>> = Object.freeze({})
const MAX_METADATA = 50

function readMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (Object.keys(metadata).length <= MAX_METADATA) return metadata
  throw new SluiceError('ADMIN_REQUEST_INVALID', 'body.metadata', `more than ${MAX_METADATA} values`)
}

/** A Customer is who pays. */
export const customers = recordTable({
  table: 'sluice.customers',
  schemaName: 'Customer',
  fields: {
    /** Chosen by the API's owner, such as `acme`. */
    id: id(),
    name: text(WORDS, {
      by: 'caller',
      sent: textForm(200),
      doc: 'the id by default',
      initial: ({ id }) => id,
      slim: '',
    }),
    /** Undefined: the limits of callers without a tier. */
    tier: tier(),
    status: choice(STATUS, { by: 'caller', initial: 'active' }),
    /** Calendar windows of the customer's limits follow it. */
    timeZone: text(WORDS, {
      by: 'caller',
      sent: textForm(64),
      doc: 'an IANA name; UTC by default',
      initial: 'UTC',
      read: readTimeZone,
    }),
    /** As `2026-01-31`. */
    periodAnchor: {
      ...optional(text(DATE, { by: 'caller', doc: 'the first day of a period', read: readDay })),
      slim: undefined,
    },
    /** Free: a billing id, a sales contact. */
    metadata: value<Readonly<Record<string, string>>>(METADATA, {
      by: 'caller',
      doc: 'free, at most 50 values: a billing id, a sales contact',
      initial: NOTHING,
      read: readMetadata,
      slim: NOTHING,
    }),
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  },
  filters: { tier: 'tier', status: 'status', timeZone: 'time_zone' },
  searched: ['name'],
  foundBy: (pattern) =>
    `id IN (SELECT customer_id FROM sluice.api_keys WHERE lower(prefix) COLLATE "C" LIKE ${pattern})`,
  customerOf: (customer) => customer.id,
})
