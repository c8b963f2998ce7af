import { choice, optional, text } from '../../records/field.ts'
import { text as textForm, WORDS } from '../../records/forms.ts'
import { type RecordIn, recordTable } from '../../records/record-table.ts'
import { CREATED, id, time } from '../../records/shared-fields.ts'

/**
 * What tokens of the admin API may do: viewers look, operators help customers, admins change rules, tiers and tokens.
 * Programs with the role `ledger` reserve, commit and book, and see nothing else.
 */
export const ROLES = ['viewer', 'operator', 'admin', 'ledger'] as const
export type Role = (typeof ROLES)[number]

/** A token of the admin API as it is kept: never the token itself. */
export const tokens = recordTable({
  table: 'sluice.tokens',
  schemaName: 'Token',
  fields: {
    id: id(),
    name: text(WORDS, { by: 'caller', sent: textForm(100) }),
    role: choice({ kind: 'choice', of: ROLES }, { by: 'caller' }),
    /** SHA-256 of the token, in hex. */
    hash: text(WORDS, { isSecret: true }),
    prefix: text(WORDS, { doc: 'the first characters of the token' }),
    ...CREATED,
    expiresAtMs: optional(time({ by: 'caller' })),
    revokedAtMs: optional(time()),
    lastUsedAtMs: optional(time()),
  },
  filters: {},
})

export interface AdminToken extends RecordIn<typeof tokens> {}
