import { newWebhookSecret } from '../../quotas/webhooks/signature.ts'
import { ID, named, needed, object, optional, pageOf, REASON, text, WORDS } from '../../records/forms.ts'
import type { Given } from '../../records/record-table.ts'
import { type Call, type Change, operation, type Reply } from '../api/operation.ts'
import { WEBHOOKS } from '../api/parts.ts'
import { DEFAULT_PAGE_SIZE, pageReply, requireVersion } from '../api/records.ts'
import { unknownRecord } from '../api/values.ts'
import { deliveries, endpoints, type WebhookDelivery, type WebhookEndpoint } from './table.ts'

const SECRET = optional(text(128), 'made here by default')
const BODY = { reason: optional(REASON) } as const

const MADE_ENDPOINT = named(
  'MadeWebhook',
  object({ ...endpoints.answerFields, secret: needed(WORDS, 'signs every message; shown this once') }),
)

const PARAM = { webhook_id: { schema: ID, doc: 'the id of the webhook' } } as const
const DELIVERY_PARAM = { ...PARAM, delivery_id: { schema: ID, doc: 'the id of the delivery' } } as const

type OfWebhook = Call<typeof PARAM>

async function load({ parts, params }: Pick<OfWebhook, 'parts' | 'params'>): Promise<WebhookEndpoint> {
  const found = await parts.get(WEBHOOKS).get(params.webhook_id)
  if (found === undefined) throw unknownRecord('webhooks', params.webhook_id)
  return found
}

const endpointReply = (endpoint: WebhookEndpoint, more: object = {}): Reply => ({
  body: { ...endpoints.toJson(endpoint), ...more },
  version: endpoint.version,
})

const deliveryReply = (delivery: WebhookDelivery): Reply => ({ body: deliveries.toJson(delivery) })

function change(
  before: WebhookEndpoint | undefined,
  after: WebhookEndpoint | undefined,
  commit: () => Promise<Reply>,
): Change {
  const shown = (endpoint: WebhookEndpoint | undefined) => endpoint && endpoints.toJson(endpoint)
  return { changes: [{ kind: 'webhook', id: before?.id ?? '', before: shown(before), after: shown(after) }], commit }
}

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
    answer: { status: 200, schema: pageOf(endpoints.answer) },
    run: async (call) => {
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const page = await call.parts.get(WEBHOOKS).list({ after: call.cursor.after, limit })
      return pageReply(call, page, endpoints.toJson)
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
    body: named('NewWebhook', object({ ...endpoints.sent.whole, secret: SECRET, ...BODY })),
    isCreation: true,
    answer: { status: 201, schema: MADE_ENDPOINT, etag: true },
    errors: ['WEBHOOK_URL_INVALID', 'WEBHOOK_SECRET_INVALID', 'WEBHOOKS_TOO_MANY'],
    plan: async (call) => {
      const store = call.parts.get(WEBHOOKS)
      const given = call.body as Given
      const secret = (given.secret as string | null | undefined) ?? newWebhookSecret()
      const made = endpoints.made(given, { id: '', nowMs: call.nowMs }, { id: '' })
      store.check(made.url, secret)
      return change(undefined, made, async () => endpointReply(await store.create(made, secret, call.by), { secret }))
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
    answer: { status: 200, schema: endpoints.answer, etag: true },
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
    body: named('WebhookChange', object({ ...endpoints.sent.change, ...BODY })),
    ifMatch: 'required',
    answer: { status: 200, schema: endpoints.answer, etag: true },
    errors: ['RECORD_UNKNOWN', 'WEBHOOK_URL_INVALID'],
    plan: async (call) => {
      const store = call.parts.get(WEBHOOKS)
      const before = await load(call)
      requireVersion(call, before.version)
      const after = endpoints.changed(call.body as Given, before, { id: before.id, nowMs: call.nowMs })
      store.check(after.url, undefined)
      return change(before, after, async () =>
        endpointReply(await store.update(before.id, after, call.by, call.version)),
      )
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
      return change(before, undefined, async () => {
        await call.parts.get(WEBHOOKS).remove(before.id, call.by, call.version)
        return {}
      })
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
    body: named('NewSecret', object({ secret: SECRET, ...BODY })),
    isCreation: true,
    answer: { status: 201, schema: MADE_ENDPOINT, etag: true },
    errors: ['RECORD_UNKNOWN', 'WEBHOOK_SECRET_INVALID'],
    plan: async (call) => {
      const store = call.parts.get(WEBHOOKS)
      const before = await load(call)
      const secret = call.body.secret ?? newWebhookSecret()
      store.check(before.url, secret)
      return change(before, before, async () =>
        endpointReply(await store.rotate(before.id, secret, call.by, call.version), { secret }),
      )
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
    answer: { status: 201, schema: deliveries.answer },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const before = await load(call)
      return change(before, before, async () => deliveryReply(await call.parts.get(WEBHOOKS).test(before.id, call.by)))
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
    answer: { status: 200, schema: pageOf(deliveries.answer) },
    errors: ['RECORD_UNKNOWN'],
    run: async (call) => {
      const { id } = await load(call)
      const { page_size: limit = DEFAULT_PAGE_SIZE } = call.query as { page_size?: number }
      const page = await call.parts.get(WEBHOOKS).deliveries(id, { after: call.cursor.after, limit })
      return pageReply(call, page, deliveries.toJson)
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
    answer: { status: 200, schema: deliveries.answer },
    errors: ['RECORD_UNKNOWN'],
    plan: async (call) => {
      const before = await load(call)
      return change(before, before, async () => {
        const { delivery_id } = call.params
        const sent = await call.parts.get(WEBHOOKS).redeliver(before.id, delivery_id, call.by)
        if (sent === undefined) throw unknownRecord('deliveries', delivery_id)
        return deliveryReply(sent)
      })
    },
  }),
]
