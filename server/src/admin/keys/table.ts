import { optional, text } from '../../records/field.ts'
import { text as textForm, WORDS } from '../../records/forms.ts'
import { recordTable } from '../../records/record-table.ts'
import { CREATED, id, tier, time, VERSION } from '../../records/shared-fields.ts'

/** An ApiKey leads from what a request carries to a customer. The key itself is never kept. */
export const api_keys = recordTable({
  table: 'sluice.api_keys',
  schemaName: 'ApiKey',
  fields: {
    id: id(),
    /** HMAC-SHA256 of the key, in hex. */
    hash: text(WORDS, { isSecret: true }),
    prefix: text(WORDS, { doc: 'the first characters of the key' }),
    /** Undefined: a key that has overrides or a tier, and no customer. */
    customerId: optional(text(WORDS)),
    name: text(WORDS, { by: 'caller', sent: textForm(200), initial: '', slim: '' }),
    tier: tier("the key's tier, which comes before the customer's"),
    ...VERSION,
    ...CREATED,
    revokedAtMs: optional(time()),
  },
  filters: { customerId: 'customer_id', tier: 'tier', hash: 'hash', prefix: 'prefix' },
  searched: ['name', 'prefix'],
  customerOf: ({ customerId }) => customerId,
})
