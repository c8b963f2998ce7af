import type { Crossing } from '../usage/usage-news.ts'

/** What a delivery says. `once` identifies what it is about, which is reported once. */
export interface WebhookEvent {
  readonly type: string
  readonly once: string
  readonly body: string
}

/** Reports that a share of a calendar quota is used. */
export function thresholdEvent(crossing: Crossing, atMs: number): WebhookEvent {
  const { customerId, keyId, limit, threshold, used, quota, periodStartMs, periodEndMs } = crossing
  const data = {
    customer_id: customerId === '' ? null : customerId,
    api_key_id: keyId ?? null,
    limit,
    threshold,
    used,
    quota,
    period: { start: timeText(periodStartMs), end: timeText(periodEndMs) },
  }
  const type = 'quota.threshold'
  return { type, once: onceOf(crossing), body: bodyOf(type, atMs, data) }
}

/** Reports nothing: a test of whether events arrive. */
export function testEvent(endpointId: string, atMs: number): WebhookEvent {
  const type = 'webhook.test'
  return { type, once: `test ${atMs} ${Math.random()}`, body: bodyOf(type, atMs, { webhook_id: endpointId }) }
}

/** Identifies what a crossing is about. */
export function onceOf({ customerId, keyId = '', limit, threshold, periodStartMs }: Crossing): string {
  return JSON.stringify([customerId, keyId, limit, threshold, periodStartMs])
}

function bodyOf(type: string, atMs: number, data: object): string {
  return JSON.stringify({ type, timestamp: timeText(atMs), data })
}

const timeText = (ms: number): string => new Date(ms).toISOString()
