import type { Actor } from '../quotas/audit/actor.ts'
import type { ListQuery, Page } from '../quotas/database/database.ts'
import { checkWebhookUrl } from '../quotas/webhooks/send-webhook.ts'
import { checkWebhookSecret } from '../quotas/webhooks/signature.ts'
import { testEvent } from '../quotas/webhooks/webhook-event.ts'
import { requireVersion } from './api/records.ts'
import { unknownRecord } from './api/values.ts'
import { type AdminClock, type MemoryAudit, pageOf } from './memory-ports.suite.ts'
import type { WebhookDelivery, WebhookEndpoint, WebhookFields } from './webhooks/table.ts'

/** Keeps what its port promises, as far as the API can see. It sends nothing. */
export class MemoryWebhooks {
  readonly #clock: AdminClock
  readonly #audit: MemoryAudit
  readonly kept = new Map<string, WebhookEndpoint>()
  readonly sent: WebhookDelivery[] = []
  readonly secrets: string[] = []

  constructor(clock: AdminClock, audit: MemoryAudit) {
    this.#clock = clock
    this.#audit = audit
  }

  async list(query: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<WebhookEndpoint>> {
    return pageOf([...this.kept.values()], ({ id }) => id, query)
  }

  async get(id: string): Promise<WebhookEndpoint | undefined> {
    return this.kept.get(id)
  }

  check(url: string, secret: string | undefined): void {
    checkWebhookUrl(url, { allowPrivate: false })
    if (secret !== undefined) checkWebhookSecret(secret)
  }

  async create(fields: WebhookFields, secret: string, by: Actor): Promise<WebhookEndpoint> {
    const at = { createdAtMs: this.#clock.now(), updatedAtMs: this.#clock.now() }
    this.secrets.push(secret)
    return this.#put({ ...fields, id: `w-${this.kept.size + 1}`, disabledReason: undefined, version: 1, ...at }, by)
  }

  async update(id: string, fields: WebhookFields, by: Actor, version?: number): Promise<WebhookEndpoint> {
    const before = this.#known(id)
    requireVersion({ version }, before.version)
    return this.#put({ ...before, ...fields, version: before.version + 1 }, by)
  }

  async remove(id: string, by: Actor): Promise<void> {
    this.#audit.note(by, 'webhooks.remove', id, this.#known(id), undefined)
    this.kept.delete(id)
  }

  async rotate(id: string, secret: string, by: Actor): Promise<WebhookEndpoint> {
    const before = this.#known(id)
    this.secrets.push(secret)
    return this.#put({ ...before, version: before.version + 1 }, by)
  }

  async deliveries(id: string, query: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<WebhookDelivery>> {
    return pageOf(
      this.sent.filter(({ endpointId }) => endpointId === id),
      (each) => each.id,
      query,
    )
  }

  async redeliver(id: string, deliveryId: string): Promise<WebhookDelivery | undefined> {
    return this.sent.find((each) => each.endpointId === id && each.id === deliveryId)
  }

  async test(id: string): Promise<WebhookDelivery> {
    const { type: event, body } = testEvent(id, this.#clock.now())
    const ended = { nextAtMs: this.#clock.now(), lastStatus: undefined, lastError: undefined, finishedAtMs: undefined }
    const own = { id: `msg_${this.sent.length}`, endpointId: id, event, body, createdAtMs: this.#clock.now() }
    const delivery: WebhookDelivery = { ...own, state: 'waiting', attempts: 0, ...ended }
    this.sent.push(delivery)
    return delivery
  }

  #put(endpoint: WebhookEndpoint, by: Actor): WebhookEndpoint {
    this.#audit.note(by, 'webhooks.put', endpoint.id, this.kept.get(endpoint.id), endpoint)
    this.kept.set(endpoint.id, endpoint)
    return endpoint
  }

  #known(id: string): WebhookEndpoint {
    const found = this.kept.get(id)
    if (found === undefined) throw unknownRecord('webhooks', id)
    return found
  }
}
