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

/** A LowBalance is a share of what an account of the ledger has in a period that is used. */
export interface LowBalance {
  readonly customerId: string
  readonly meterId: string
  readonly threshold: number
  readonly used: number
  readonly balance: number
  readonly debt: number
  readonly period: { readonly startMs: number; readonly endMs: number }
}

/** Reports that a share of what an account has in a period is used. */
export function lowBalanceEvent(about: LowBalance, atMs: number): WebhookEvent {
  const { customerId, meterId, threshold, used, balance, debt, period } = about
  const { startMs, endMs } = period
  const data = {
    customer_id: customerId,
    meter: meterId,
    threshold,
    used,
    balance,
    debt,
    period: { start: timeText(startMs), end: timeText(endMs) },
  }
  const type = 'ledger.balance_low'
  const once = JSON.stringify(['ledger', customerId, meterId, threshold, startMs])
  return { type, once, body: bodyOf(type, atMs, data) }
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
