import { randomUUID } from 'node:crypto'
import { got, SluiceError } from 'sluice/internal/core/errors'
import {
  endpoints,
  type WebhookDelivery,
  type WebhookEndpoint,
  type WebhookFields,
} from '../../admin/webhooks/table.ts'
import type { Actor } from '../audit/actor.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { readCursor, writeCursor } from '../audit/cursor.ts'
import type { Database, ListQuery, Page, Sql } from '../database/database.ts'
import type { SealedSecrets } from './sealed-secrets.ts'
import { checkWebhookUrl } from './send-webhook.ts'
import { checkWebhookSecret } from './signature.ts'
import { testEvent } from './webhook-event.ts'
import {
  DELIVERY_COLUMNS,
  type DeliveryRow,
  deliveryOf,
  ENDPOINT_COLUMNS,
  type EndpointRow,
  endpointOf,
} from './webhook-rows.ts'

/** Every event goes to every endpoint that wants it: their number is how much one event can cost. */
export const MAX_ENDPOINTS = 50
const DAY_MS = 86_400_000
const MOST = 500

export interface WebhookStoreParts {
  readonly db: Database
  readonly audit: AuditLog
  readonly sealed: SealedSecrets
  readonly now?: () => number
  /** Endpoints may be on private addresses, and speak plain HTTP. */
  readonly allowPrivate?: boolean
}

/** Keeps webhooks in the database. */
export class WebhookStore {
  readonly #db: Database
  readonly #audit: AuditLog
  readonly #sealed: SealedSecrets
  readonly #now: () => number
  readonly #allowPrivate: boolean

  constructor({ db, audit, sealed, now = Date.now, allowPrivate = false }: WebhookStoreParts) {
    this.#db = db
    this.#audit = audit
    this.#sealed = sealed
    this.#now = now
    this.#allowPrivate = allowPrivate
  }

  async list({ after, limit }: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<WebhookEndpoint>> {
    const rows = await this.#db.query<EndpointRow>(
      `SELECT ${ENDPOINT_COLUMNS} FROM sluice.webhook_endpoints WHERE id > $1 ORDER BY id LIMIT $2::int`,
      [after === undefined ? '' : readCursor(after, 'webhooks'), atMost(limit) + 1],
    )
    return pageOf(rows.map(endpointOf), atMost(limit), ({ id }) => writeCursor('webhooks', id))
  }

  async get(id: string): Promise<WebhookEndpoint | undefined> {
    const row = await find(this.#db, id)
    return row && endpointOf(row)
  }

  check(url: string, secret: string | undefined): void {
    checkWebhookUrl(url, { allowPrivate: this.#allowPrivate })
    if (secret !== undefined) checkWebhookSecret(secret)
  }

  create(fields: WebhookFields, secret: string, by: Actor): Promise<WebhookEndpoint> {
    this.check(fields.url, secret)
    const id = randomUUID()
    return this.#audit.record(by, async (tx) => {
      // Two at the same time would both be the last one that fits.
      await tx.query('LOCK TABLE sluice.webhook_endpoints IN SHARE ROW EXCLUSIVE MODE')
      const [{ count }] = await tx.query<{ count: number }>('SELECT count(*) AS count FROM sluice.webhook_endpoints')
      if (count >= MAX_ENDPOINTS) throw new SluiceError('WEBHOOKS_TOO_MANY', 'webhooks', `there are ${count}`)
      const [row] = await tx.query<EndpointRow>(
        `INSERT INTO sluice.webhook_endpoints (id, secret, version, url, description, customer_id, events, thresholds, is_enabled,
           created_at, updated_at)
         VALUES ($1, $2, 1, $3, $4, $5, $6::jsonb, $7::jsonb, $8, to_timestamp($9::float8 / 1000), to_timestamp($9::float8 / 1000))
         RETURNING ${ENDPOINT_COLUMNS}`,
        [id, this.#sealed.seal(id, [{ secret, endsAtMs: undefined }]), ...valuesOf(fields), this.#now()],
      )
      return audited('create', undefined, endpointOf(row))
    })
  }

  update(id: string, fields: WebhookFields, by: Actor, version?: number): Promise<WebhookEndpoint> {
    this.check(fields.url, undefined)
    return this.#audit.record(by, async (tx) => {
      const before = endpointOf(await claim(tx, id, version))
      const [row] = await tx.query<EndpointRow>(
        `UPDATE sluice.webhook_endpoints SET version = version + 1, url = $2, description = $3, customer_id = $4, events = $5::jsonb,
           thresholds = $6::jsonb, is_enabled = $7, updated_at = to_timestamp($8::float8 / 1000),
           disabled_reason = CASE WHEN $7 THEN NULL ELSE disabled_reason END
         WHERE id = $1 RETURNING ${ENDPOINT_COLUMNS}`,
        [id, ...valuesOf(fields), this.#now()],
      )
      return audited('update', before, endpointOf(row))
    })
  }

  remove(id: string, by: Actor, version?: number): Promise<void> {
    return this.#audit.record(by, async (tx) => {
      const before = endpointOf(await claim(tx, id, version))
      await tx.query('DELETE FROM sluice.webhook_endpoints WHERE id = $1', [id])
      return { result: undefined, entries: [entryOf('remove', before, undefined)] }
    })
  }

  rotate(id: string, secret: string, by: Actor, version?: number): Promise<WebhookEndpoint> {
    checkWebhookSecret(secret)
    const now = this.#now()
    return this.#audit.record(by, async (tx) => {
      const before = await claim(tx, id, version)
      const [former] = this.#sealed.open(id, before.secret)
      const secrets = [
        { secret, endsAtMs: undefined },
        { ...former, endsAtMs: now + DAY_MS },
      ]
      const [row] = await tx.query<EndpointRow>(
        `UPDATE sluice.webhook_endpoints SET version = version + 1, secret = $2, updated_at = to_timestamp($3::float8 / 1000)
         WHERE id = $1 RETURNING ${ENDPOINT_COLUMNS}`,
        [id, this.#sealed.seal(id, secrets), now],
      )
      return audited('rotate', endpointOf(before), endpointOf(row))
    })
  }

  /** Switches off an endpoint that has answered that it is gone. */
  disable(id: string, reason: string, by: Actor): Promise<void> {
    return this.#audit.record(by, async (tx) => {
      const before = await find(tx, id)
      const [row] = await tx.query<EndpointRow>(
        `UPDATE sluice.webhook_endpoints SET version = version + 1, is_enabled = false, disabled_reason = $2
         WHERE id = $1 AND is_enabled RETURNING ${ENDPOINT_COLUMNS}`,
        [id, reason],
      )
      if (before === undefined || row === undefined) return { result: undefined, entries: [] }
      return { result: undefined, entries: [entryOf('disable', endpointOf(before), endpointOf(row))] }
    })
  }

  async deliveries(id: string, { after, limit }: Pick<ListQuery, 'after' | 'limit'>): Promise<Page<WebhookDelivery>> {
    const [beforeMs, beforeId] = after === undefined ? [undefined, undefined] : placeOf(after)
    const rows = await this.#db.query<DeliveryRow>(
      `SELECT ${DELIVERY_COLUMNS} FROM sluice.webhook_deliveries WHERE endpoint_id = $1
         AND ($2::float8 IS NULL OR (created_at, id) < (to_timestamp($2::float8 / 1000), $3::text))
       ORDER BY created_at DESC, id DESC LIMIT $4::int`,
      [id, beforeMs ?? null, beforeId ?? null, atMost(limit) + 1],
    )
    return pageOf(rows.map(deliveryOf), atMost(limit), ({ createdAtMs, id: last }) =>
      writeCursor('deliveries', `${createdAtMs} ${last}`),
    )
  }

  redeliver(id: string, deliveryId: string, by: Actor): Promise<WebhookDelivery | undefined> {
    return this.#audit.record(by, async (tx) => {
      const [row] = await tx.query<DeliveryRow>(
        `UPDATE sluice.webhook_deliveries SET state = 'waiting', attempts = 0, finished_at = NULL,
           next_at = to_timestamp($3::float8 / 1000)
         WHERE id = $2 AND endpoint_id = $1 RETURNING ${DELIVERY_COLUMNS}`,
        [id, deliveryId, this.#now()],
      )
      if (row === undefined) return { result: undefined, entries: [] }
      const delivery = deliveryOf(row)
      return { result: delivery, entries: [deliveryEntry('redeliver', delivery)] }
    })
  }

  test(id: string, by: Actor): Promise<WebhookDelivery> {
    return this.#audit.record(by, async (tx) => {
      await claim(tx, id, undefined)
      const { type, once, body } = testEvent(id, this.#now())
      const [row] = await tx.query<DeliveryRow>(
        `INSERT INTO sluice.webhook_deliveries (id, endpoint_id, once, event, body, next_at, created_at)
         VALUES ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), to_timestamp($6::float8 / 1000)) RETURNING ${DELIVERY_COLUMNS}`,
        [`msg_${randomUUID().replaceAll('-', '')}`, id, once, type, body, this.#now()],
      )
      const delivery = deliveryOf(row)
      return { result: delivery, entries: [deliveryEntry('test', delivery)] }
    })
  }
}

async function find(sql: Sql, id: string, lock = ''): Promise<EndpointRow | undefined> {
  const [row] = await sql.query<EndpointRow>(
    `SELECT ${ENDPOINT_COLUMNS} FROM sluice.webhook_endpoints WHERE id = $1 ${lock}`,
    [id],
  )
  return row
}

/** Locks an existing endpoint, in the version that the caller has seen. */
async function claim(tx: Sql, id: string, version: number | undefined): Promise<EndpointRow> {
  const row = await find(tx, id, 'FOR UPDATE')
  if (row === undefined) throw new SluiceError('RECORD_UNKNOWN', 'webhooks', got(id))
  if (version !== undefined && version !== row.version) {
    throw new SluiceError('VERSION_STALE', 'webhooks', `got version ${version}, and it is ${row.version}`)
  }
  return row
}

function valuesOf({ url, description, customerId, events, thresholds, isEnabled }: WebhookFields): readonly unknown[] {
  return [url, description, customerId ?? null, JSON.stringify(events), JSON.stringify(thresholds), isEnabled]
}

function audited(what: string, before: WebhookEndpoint | undefined, after: WebhookEndpoint) {
  return { result: after, entries: [entryOf(what, before, after)] }
}

function entryOf(what: string, before: WebhookEndpoint | undefined, after: WebhookEndpoint | undefined) {
  const either = after ?? before
  return {
    action: `webhooks.${what}`,
    target: `webhooks/${either?.id}`,
    customerId: either?.customerId,
    before: before && endpoints.toAudit(before),
    after: after && endpoints.toAudit(after),
  }
}

function deliveryEntry(what: string, { id, endpointId, event }: WebhookDelivery) {
  const after = JSON.stringify({ delivery: id, event })
  return {
    action: `webhooks.${what}`,
    target: `webhooks/${endpointId}`,
    customerId: undefined,
    before: undefined,
    after,
  }
}

const atMost = (limit: number): number => Math.min(Math.max(Math.trunc(limit) || 1, 1), MOST)

function placeOf(after: string): readonly [ms: number, id: string] {
  const [ms, id] = readCursor(after, 'deliveries').split(' ')
  return [Number(ms), id]
}

/** Cuts off the extra row that shows that there is another page. */
function pageOf<T>(found: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? cursorOf(items[limit - 1]) : undefined }
}
