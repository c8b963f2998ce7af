import { THRESHOLDS } from '../../quotas/usage/thresholds.ts'
import { newWebhookSecret } from '../../quotas/webhooks/signature.ts'
import { WEBHOOK_EVENTS } from '../../quotas/webhooks/webhook-event.ts'
import type { WebhookDelivery, WebhookEndpoint, WebhookFields } from '../../quotas/webhooks/webhook-rows.ts'
import {
  ANY,
  CREATED,
  ID,
  list,
  named,
  needed,
  orNull as nullable,
  object,
  optional,
  pageOf,
  REASON,
  TIME,
  text,
  UPDATED,
  VERSION,
  WHOLE,
  WORDS,
  YES_OR_NO,
} from '../../records/forms.ts'
import { type Call, operation, type Reply } from '../api/operation.ts'
import { WEBHOOKS } from '../api/parts.ts'
import { DEFAULT_PAGE_SIZE, pageReply, requireVersion } from '../api/records.ts'
import { orNull, timeOrNull, timeText, unknownRecord } from '../api/values.ts'

const EVENT = { kind: 'choice', of: WEBHOOK_EVENTS } as const
const THRESHOLD = { kind: 'integer', min: THRESHOLDS[0], max: 100 } as const
const SECRET = text(128)

const ENDPOINT_FIELDS = {
  id: needed(WORDS),
  url: needed(WORDS),
  description: needed(WORDS),
  customer_id: nullable(WORDS, 'null: it hears of every customer'),
  events: needed(list(EVENT)),
  thresholds: needed(list(WHOLE), 'in percent'),
  enabled: needed(YES_OR_NO),
  disabled_reason: nullable(WORDS, 'why the service switched it off'),
  ...VERSION,
  ...CREATED,
  ...UPDATED,
} as const

const ENDPOINT = named('Webhook', object(ENDPOINT_FIELDS))
const MADE_ENDPOINT = named(
  'MadeWebhook',
  object({ ...ENDPOINT_FIELDS, secret: needed(WORDS, 'signs every message; shown this once') }),
)

const DELIVERY = named(
  'WebhookDelivery',
  object({
    id: needed(WORDS, 'the `webhook-id` of every attempt'),
    event: needed(WORDS),
    state: needed({ kind: 'choice', of: ['waiting', 'delivered', 'failed'] }),
    attempts: needed(WHOLE),
    next_attempt_at: nullable(TIME),
    last_status: nullable(WHOLE),
    last_error: nullable(WORDS),
    message: needed(ANY, 'the body'),
    ...CREATED,
    finished_at: nullable(TIME),
  }),
)

const GIVEN = {
  description: optional(text(500, 0)),
  customer_id: optional(ID, 'only what is about this customer'),
  events: optional(
    { kind: 'list', min: 0, max: WEBHOOK_EVENTS.length, of: EVENT } as const,
    'all, unless told otherwise',
  ),
  thresholds: optional(
    { kind: 'list', min: 0, max: THRESHOLDS.length, of: THRESHOLD } as const,
    '50, 80 and 100, unless told otherwise',
  ),
  enabled: optional(YES_OR_NO),
  reason: optional(REASON),
} as const

const PARAM = { webhook_id: { schema: ID, doc: 'the id of the webhook' } } as const
const DELIVERY_PARAM = { ...PARAM, delivery_id: { schema: ID, doc: 'the id of the delivery' } } as const

function endpointJson(endpoint: WebhookEndpoint) {
  const { id, url, description, customerId, events, thresholds, isEnabled, disabledReason, version } = endpoint
  return {
    id,
    url,
    description,
    customer_id: orNull(customerId),
    events,
    thresholds,
    enabled: isEnabled,
    disabled_reason: orNull(disabledReason),
    version,
    created_at: timeText(endpoint.createdAtMs),
    updated_at: timeText(endpoint.updatedAtMs),
  }
}

function deliveryJson(delivery: WebhookDelivery) {
  const { id, event, state, attempts, nextAtMs, lastStatus, lastError, body, createdAtMs, finishedAtMs } = delivery
  return {
    id,
    event,
    state,
    attempts,
    next_attempt_at: timeOrNull(nextAtMs),
    last_status: orNull(lastStatus),
    last_error: orNull(lastError),
    message: JSON.parse(body),
    created_at: timeText(createdAtMs),
    finished_at: timeOrNull(finishedAtMs),
  }
}

const NEW: Omit<WebhookFields, 'url'> = {
  description: '',
  customerId: undefined,
  events: WEBHOOK_EVENTS,
  thresholds: THRESHOLDS,
  isEnabled: true,
}

interface Given {
  readonly url?: string | null | undefined
  readonly description?: string | null | undefined
  readonly customer_id?: string | null | undefined
  readonly events?: readonly string[] | null | undefined
  readonly thresholds?: readonly number[] | null | undefined
  readonly enabled?: boolean | null | undefined
}

/** fieldsOf puts what was given over what there is. Null is as for a new one. */
function fieldsOf(given: Given, before: WebhookFields): WebhookFields {
  const { url, description, customer_id, events, thresholds, enabled } = given
  const or = <T>(value: T | null | undefined, now: T, fresh: T): T => (value === undefined ? now : (value ?? fresh))
  return {
    url: url ?? before.url,
    description: or(description, before.description, NEW.description),
    customerId: or(customer_id, before.customerId, undefined),
    events: or(events, before.events, NEW.events),
    thresholds: or(thresholds, before.thresholds, NEW.thresholds),
    isEnabled: or(enabled, before.isEnabled, true),
  }
}

async function load({ parts, params }: Pick<Call<typeof PARAM>, 'parts' | 'params'>): Promise<WebhookEndpoint> {
  const found = await parts.get(WEBHOOKS).get(params.webhook_id)
  if (found === undefined) throw unknownRecord('webhooks', params.webhook_id)
  return found
}

const endpointReply = (endpoint: WebhookEndpoint, more: object = {}): Reply => ({
  body: { ...endpointJson(endpoint), ...more },
  version: endpoint.version,
})

const proposed = (id: string, before: WebhookEndpoint | undefined, after: unknown) =>
  ({ kind: 'webhook', id, before: before && endpointJson(before), after }) as const

export const WEBHOOK_OPERATIONS = [
  operation({
    kind: 'look',
    id: 'listWebhooks',
    method: 'GET',
    path: '/webhooks',
    tag: 'webhooks',
    role: 'viewer',
    summary: 'where events are sent, by id',
    isPaged: true,
    answer: { status: 200, schema: pageOf(ENDPOINT) },
    run: async (call) => {
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const page = await call.parts.get(WEBHOOKS).list({ after: call.cursor.after, limit })
      return pageReply(call, page, endpointJson)
    },
  }),
  operation({
    kind: 'change',
    id: 'createWebhook',
    method: 'POST',
    path: '/webhooks',
    tag: 'webhooks',
    role: 'admin',
    summary: 'make a webhook; the secret that signs its messages is shown this once',
    body: named(
      'NewWebhook',
      object({ url: needed(text(2_048)), secret: optional(SECRET, 'one is made, unless it is given'), ...GIVEN }),
    ),
    isCreation: true,
    answer: { status: 201, schema: MADE_ENDPOINT, etag: true },
    errors: ['WEBHOOK_URL_INVALID', 'WEBHOOK_SECRET_INVALID', 'WEBHOOKS_TOO_MANY'],
    plan: async (call) => {
      const store = call.parts.get(WEBHOOKS)
      const secret = call.body.secret ?? newWebhookSecret()
      const fields = fieldsOf(call.body, { ...NEW, url: call.body.url })
      store.check(fields.url, secret)
      return {
        changes: [proposed('', undefined, fields)],
        commit: async () => endpointReply(await store.create(fields, secret, call.by), { secret }),
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'readWebhook',
    method: 'GET',
    path: '/webhooks/{webhook_id}',
    tag: 'webhooks',
    role: 'viewer',
    summary: 'one webhook, without its secret',
    params: PARAM,
    answer: { status: 200, schema: ENDPOINT, etag: true },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => endpointReply(await load(call)),
  }),
  operation({
    kind: 'change',
    id: 'changeWebhook',
    method: 'PATCH',
    path: '/webhooks/{webhook_id}',
    tag: 'webhooks',
    role: 'admin',
    summary: 'change some fields of a webhook; null is as for a new one',
    params: PARAM,
    body: named('WebhookChange', object({ url: optional(text(2_048)), ...GIVEN })),
    ifMatch: 'required',
    answer: { status: 200, schema: ENDPOINT, etag: true },
    errors: ['RECORD_UNKNOWN', 'WEBHOOK_URL_INVALID'],
    plan: async (call) => {
      const store = call.parts.get(WEBHOOKS)
      const before = await load(call)
      requireVersion(call, before.version)
      const fields = fieldsOf(call.body, before)
      store.check(fields.url, undefined)
      return {
        changes: [proposed(before.id, before, endpointJson({ ...before, ...fields }))],
        commit: async () => endpointReply(await store.update(before.id, fields, call.by, call.version)),
      }
    },
  }),
  operation({
    kind: 'change',
    id: 'removeWebhook',
    method: 'DELETE',
    path: '/webhooks/{webhook_id}',
    tag: 'webhooks',
    role: 'admin',
    summary: 'remove a webhook and its deliveries',
    params: PARAM,
    ifMatch: 'required',
    answer: { status: 204 },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const before = await load(call)
      requireVersion(call, before.version)
      return {
        changes: [proposed(before.id, before, undefined)],
        commit: async () => {
          await call.parts.get(WEBHOOKS).remove(before.id, call.by, call.version)
          return {}
        },
      }
    },
  }),
  operation({
    kind: 'change',
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/webhooks/{webhook_id}/secret',
    tag: 'webhooks',
    role: 'admin',
    summary: 'sign with another secret, shown this once; for a day, messages have the signature of the former one, too',
    params: PARAM,
    body: named(
      'NewSecret',
      object({ secret: optional(SECRET, 'one is made, unless it is given'), reason: optional(REASON) }),
    ),
    isCreation: true,
    answer: { status: 201, schema: MADE_ENDPOINT, etag: true },
    errors: ['RECORD_UNKNOWN', 'WEBHOOK_SECRET_INVALID'],
    plan: async (call) => {
      const store = call.parts.get(WEBHOOKS)
      const before = await load(call)
      const secret = call.body.secret ?? newWebhookSecret()
      store.check(before.url, secret)
      return {
        changes: [proposed(before.id, before, endpointJson(before))],
        commit: async () => endpointReply(await store.rotate(before.id, secret, call.by, call.version), { secret }),
      }
    },
  }),
  operation({
    kind: 'change',
    id: 'testWebhook',
    method: 'POST',
    path: '/webhooks/{webhook_id}/test',
    tag: 'webhooks',
    role: 'operator',
    summary: 'send an event that means nothing',
    params: PARAM,
    answer: { status: 201, schema: DELIVERY },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const before = await load(call)
      return {
        changes: [proposed(before.id, before, endpointJson(before))],
        commit: async () => ({ body: deliveryJson(await call.parts.get(WEBHOOKS).test(before.id, call.by)) }),
      }
    },
  }),
  operation({
    kind: 'look',
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: '/webhooks/{webhook_id}/deliveries',
    tag: 'webhooks',
    role: 'viewer',
    summary: 'what was sent or waits to be, the newest first; for 30 days',
    params: PARAM,
    isPaged: true,
    answer: { status: 200, schema: pageOf(DELIVERY) },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { id } = await load(call)
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const page = await call.parts.get(WEBHOOKS).deliveries(id, { after: call.cursor.after, limit })
      return pageReply(call, page, deliveryJson)
    },
  }),
  operation({
    kind: 'change',
    id: 'redeliverWebhook',
    method: 'POST',
    path: '/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
    tag: 'webhooks',
    role: 'operator',
    summary: 'send an event again now, with the same id, whatever became of it',
    params: DELIVERY_PARAM,
    answer: { status: 200, schema: DELIVERY },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const before = await load(call)
      return {
        changes: [proposed(before.id, before, endpointJson(before))],
        commit: async () => {
          const { delivery_id } = call.params
          const sent = await call.parts.get(WEBHOOKS).redeliver(before.id, delivery_id, call.by)
          if (sent === undefined) throw unknownRecord('deliveries', delivery_id)
          return { body: deliveryJson(sent) }
        },
      }
    },
  }),
]
