import { choice, count, flag, optional, text, value } from '../../records/field.ts'
import { ANY, ID, list, text as textForm, WHOLE, WORDS, YES_OR_NO } from '../../records/forms.ts'
import { type RecordIn, recordTable } from '../../records/record-table.ts'
import { CREATED, id, time, UPDATED, VERSION } from '../../records/shared-fields.ts'

/** The events that endpoints may ask for. */
export const WEBHOOK_EVENTS = ['quota.threshold', 'ledger.balance_low'] as const

/** The shares of a calendar quota of which webhooks are sent, in percent. */
export const THRESHOLDS: readonly number[] = [50, 80, 100]

const EVENT = { kind: 'choice', of: WEBHOOK_EVENTS } as const
const THRESHOLD = { kind: 'integer', min: THRESHOLDS[0], max: 100 } as const

/** Where events are sent. Secrets are sealed next to it: they are never read again. */
export const endpoints = recordTable({
  table: 'sluice.webhook_endpoints',
  schemaName: 'Webhook',
  fields: {
    id: id(),
    url: text(WORDS, { by: 'caller', sent: textForm(2_048) }),
    description: text(WORDS, { by: 'caller', sent: textForm(500, 0), initial: '' }),
    /** Undefined: it receives the events of every customer. */
    customerId: optional(
      text(WORDS, { by: 'caller', sent: ID, doc: 'only events of this customer; null: of every customer' }),
    ),
    events: value<readonly string[]>(list(EVENT), {
      by: 'caller',
      sent: { kind: 'list', min: 0, max: WEBHOOK_EVENTS.length, of: EVENT },
      doc: 'all by default',
      initial: WEBHOOK_EVENTS,
    }),
    thresholds: value<readonly number[]>(list(WHOLE), {
      by: 'caller',
      sent: { kind: 'list', min: 0, max: THRESHOLDS.length, of: THRESHOLD },
      doc: 'in percent; 50, 80 and 100 by default',
      initial: THRESHOLDS,
    }),
    isEnabled: flag(YES_OR_NO, { by: 'caller', shownAs: 'enabled', initial: true }),
    disabledReason: optional(text(WORDS, { doc: 'why the service switched it off' })),
    ...VERSION,
    ...CREATED,
    ...UPDATED,
  },
  filters: {},
})

/** One event on its way to one endpoint. Its id is the `webhook-id` of every attempt. */
export const deliveries = recordTable({
  table: 'sluice.webhook_deliveries',
  schemaName: 'WebhookDelivery',
  fields: {
    id: text(WORDS, { doc: 'the `webhook-id` of every attempt' }),
    endpointId: text(WORDS, { isInternal: true }),
    event: text(WORDS),
    state: choice({ kind: 'choice', of: ['waiting', 'delivered', 'failed'] }),
    attempts: count(WHOLE),
    nextAtMs: optional(time({ shownAs: 'next_attempt_at' })),
    lastStatus: optional(count(WHOLE)),
    lastError: optional(text(WORDS)),
    body: text(ANY, { doc: 'the body', shownAs: 'message', shown: (body) => JSON.parse(body) as unknown }),
    ...CREATED,
    finishedAtMs: optional(time()),
  },
  filters: {},
})

export interface WebhookEndpoint extends RecordIn<typeof endpoints> {}
export interface WebhookDelivery extends RecordIn<typeof deliveries> {}

/** What callers write of an endpoint. */
export type WebhookFields = Pick<
  WebhookEndpoint,
  'url' | 'description' | 'customerId' | 'events' | 'thresholds' | 'isEnabled'
>
