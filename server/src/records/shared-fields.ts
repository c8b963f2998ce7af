import { got, SluiceError } from 'sluice/internal/core/errors'
import { type Field, type FieldOptions, optional, text } from './field.ts'
import { orNull, REASON, TICKET, TIER_NAME, TIME, WHOLE, WORDS } from './forms.ts'

// Fields that several kinds of records have.

const invalid = (where: string, detail: string) => new SluiceError('ADMIN_REQUEST_INVALID', where, detail)

/** A field of a moment: milliseconds in code, a timestamp in the database, text in JSON. */
export function time(options: FieldOptions<number> = {}): Field<number> {
  return { kind: 'time', schema: TIME, ...options }
}

/** The id of a record that the service makes. */
export const id = (): Field<string> => text(WORDS)

export const VERSION = {
  /** Rises with every change of the record. */
  version: { kind: 'int8', schema: WHOLE, doc: 'rises with every change; the ETag', initial: 0 } as Field<number>,
}

export const CREATED = { createdAtMs: time({ initial: ({ nowMs }) => nowMs }) }
export const UPDATED = { updatedAtMs: time({ initial: ({ nowMs }) => nowMs }) }

/** When a record is in force. It follows from the time alone. */
export const SPAN = {
  effectiveAtMs: time({
    by: 'caller',
    doc: 'when it takes effect; now by default',
    initial: ({ nowMs }) => nowMs,
    isKept: true,
  }),
  expiresAtMs: optional(time({ by: 'caller', doc: 'when it ends; null: never' })),
}

/** Throws for a record that ends before it begins. */
export function requireSpan(record: {
  readonly effectiveAtMs: number
  readonly expiresAtMs: number | undefined
}): void {
  const { effectiveAtMs, expiresAtMs } = record
  if (expiresAtMs !== undefined && expiresAtMs <= effectiveAtMs) {
    throw invalid('body.expires_at', 'it would end before it begins')
  }
}

/** What people say about a change. No decision depends on it. */
export const WHY = {
  reason: { ...optional(text(REASON, { by: 'caller' })), slim: undefined },
  ticket: { ...optional(text(TICKET, { by: 'caller' })), slim: undefined },
}

/** The tier of a caller. */
export const tier = (doc?: string): Field<string | undefined> =>
  optional(text(WORDS, { by: 'caller', sent: TIER_NAME, ...(doc && { doc }) }))

/** Throws for a time zone that the system does not have. */
export function readTimeZone(name: string): string {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
  } catch {
    throw invalid('body.time_zone', `there is no such time zone: ${got(name)}`)
  }
  return name
}

/** Throws for a day that the calendar does not have. */
export function readDay(day: string): string {
  const date = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(day)) {
    throw invalid('body.period_anchor', `there is no such day: ${got(day)}`)
  }
  return day
}

/** A Subject is whom a record is about. */
export type Subject =
  | { readonly kind: 'customer'; readonly customerId: string }
  | { readonly kind: 'key'; readonly keyId: string }

const SUBJECT_COLUMNS = { customer_id: optional(text(WORDS)), api_key_id: optional(text(WORDS)) } as Readonly<
  Record<string, Field>
>

/** Whom a record is about: a customer or a key. */
export const subject = (): Field<Subject> => ({
  kind: 'text',
  schema: WORDS,
  parts: {
    columns: SUBJECT_COLUMNS,
    split: (who) => (who.kind === 'customer' ? { customer_id: who.customerId } : { api_key_id: who.keyId }),
    join: ({ customer_id, api_key_id }) =>
      customer_id === null
        ? { kind: 'key', keyId: api_key_id as string }
        : { kind: 'customer', customerId: customer_id as string },
  },
})

/** A Subject or a range of addresses. */
export type BlockedSubject = Subject | { readonly kind: 'cidr'; readonly cidr: string }

export const blockedSubject = (): Field<BlockedSubject> => {
  const { split, join } = subject().parts!
  return {
    kind: 'text',
    schema: WORDS,
    parts: {
      columns: { ...SUBJECT_COLUMNS, cidr: optional(text(WORDS)) as Field },
      split: (who) => (who.kind === 'cidr' ? { cidr: who.cidr } : split(who)),
      join: (row) => (row.cidr === null ? join(row) : { kind: 'cidr', cidr: row.cidr as string }),
    },
  }
}

/** Returns the customer that an entry of the audit log is about. */
export const customerOfSubject = ({ subject: who }: { readonly subject: BlockedSubject }): string | undefined =>
  who.kind === 'customer' ? who.customerId : undefined

/** A problem is worked out for each answer, from the rules in force. */
export const PROBLEM = { problem: orNull(WORDS, 'why it has no effect; null: nothing is wrong with it') } as const

/** What lists of records about a customer or a key are narrowed by. */
export const OF_SUBJECT = {
  customerId: 'customer_id',
  keyId: 'api_key_id',
  /** Of a customer, and of the keys of that customer. */
  ownerId: (id: string) =>
    `(customer_id = ${id} OR api_key_id IN (SELECT id FROM sluice.api_keys WHERE customer_id = ${id}))`,
} as const
