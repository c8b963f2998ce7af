/** A WebhookEndpoint is where events are sent. Its secrets are never read again. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string
  /** Undefined: it hears of every customer. */
  readonly customerId: string | undefined
  readonly events: readonly string[]
  /** In percent. */
  readonly thresholds: readonly number[]
  readonly isEnabled: boolean
  /** Why it was switched off, where the service did that. */
  readonly disabledReason: string | undefined
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export type WebhookFields = Pick<
  WebhookEndpoint,
  'url' | 'description' | 'customerId' | 'events' | 'thresholds' | 'isEnabled'
>

/** A WebhookDelivery is one event on its way to one endpoint. Its id is the `webhook-id` of every attempt. */
export interface WebhookDelivery {
  readonly id: string
  readonly endpointId: string
  readonly event: string
  readonly state: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  readonly nextAtMs: number | undefined
  readonly lastStatus: number | undefined
  readonly lastError: string | undefined
  readonly body: string
  readonly createdAtMs: number
  readonly finishedAtMs: number | undefined
}

/** How endpoints and deliveries are read from their tables. */
export interface EndpointRow {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly description: string
  readonly customer_id: string | null
  readonly events: readonly string[]
  readonly thresholds: readonly number[]
  readonly is_enabled: boolean
  readonly disabled_reason: string | null
  readonly version: number
  readonly created_ms: number
  readonly updated_ms: number
}

export const ENDPOINT_COLUMNS = `id, url, secret, description, customer_id, events, thresholds, is_enabled, disabled_reason,
  version, (extract(epoch FROM created_at) * 1000)::int8 AS created_ms, (extract(epoch FROM updated_at) * 1000)::int8 AS updated_ms`

export function endpointOf(row: EndpointRow): WebhookEndpoint {
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    customerId: row.customer_id ?? undefined,
    events: row.events,
    thresholds: row.thresholds,
    isEnabled: row.is_enabled,
    disabledReason: row.disabled_reason ?? undefined,
    version: row.version,
    createdAtMs: row.created_ms,
    updatedAtMs: row.updated_ms,
  }
}

export interface DeliveryRow {
  readonly id: string
  readonly endpoint_id: string
  readonly event: string
  readonly state: WebhookDelivery['state']
  readonly attempts: number
  readonly next_ms: number | null
  readonly last_status: number | null
  readonly last_error: string | null
  readonly body: string
  readonly created_ms: number
  readonly finished_ms: number | null
}

export const DELIVERY_COLUMNS = `id, endpoint_id, event, state, attempts, last_status, last_error, body,
  (extract(epoch FROM next_at) * 1000)::int8 AS next_ms, (extract(epoch FROM created_at) * 1000)::int8 AS created_ms,
  (extract(epoch FROM finished_at) * 1000)::int8 AS finished_ms`

export function deliveryOf(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    event: row.event,
    state: row.state,
    attempts: row.attempts,
    nextAtMs: row.next_ms ?? undefined,
    lastStatus: row.last_status ?? undefined,
    lastError: row.last_error ?? undefined,
    body: row.body,
    createdAtMs: row.created_ms,
    finishedAtMs: row.finished_ms ?? undefined,
  }
}
