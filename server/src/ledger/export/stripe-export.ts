import { SluiceError } from 'sluice/internal/core/errors'
import type { Database } from '../../quotas/database/database.ts'
import { ExportQueue, type MeterEvent } from './export-queue.ts'

export interface StripeOptions {
  readonly key: string
  /** By meter: the event name of the meter at Stripe. */
  readonly eventNames: ReadonlyMap<string, string>
  /** Default: https://api.stripe.com. */
  readonly url?: string
  readonly nowMs?: () => number
}

export interface ExportReport {
  readonly events: number
  /** By meter: the sum of what was sent. */
  readonly values: ReadonlyMap<string, number>
  readonly problems: readonly { readonly customerId: string; readonly meterId: string; readonly problem: string }[]
}

const URL_OF_STRIPE = 'https://api.stripe.com'
const TIMEOUT_MS = 30_000
/** Stripe forgets identifiers after 24 hours: what was sent before that, without an answer, may be there. */
const SURE_FOR_MS = 23 * 3_600_000
/** What a customer's metadata call their id at Stripe. */
export const STRIPE_CUSTOMER = 'stripe_customer_id'

/**
 * Sends what customers used to Stripe as meter events. It ends when there is nothing more to send, and continues where
 * it ended, also after it was killed. An account with a problem is left, and the others go on.
 */
export async function exportToStripe(db: Database, options: StripeOptions): Promise<ExportReport> {
  const { eventNames, nowMs = Date.now } = options
  const queue = new ExportQueue(db)
  const values = new Map<string, number>()
  const problems: { customerId: string; meterId: string; problem: string }[] = []
  let events = 0
  for (const account of await queue.accounts([...eventNames.keys()], STRIPE_CUSTOMER)) {
    for (;;) {
      const event = await queue.next(account, nowMs())
      if (event === undefined) break
      const refusal = isUnsure(event, nowMs()) ? UNSURE : await send(event, options)
      const { customerId, meterId, value } = event
      if (refusal !== undefined) {
        if (refusal.isFinal) await queue.refused(event)
        problems.push({ customerId, meterId, problem: refusal.problem })
        break
      }
      await queue.done(event)
      events++
      values.set(meterId, (values.get(meterId) ?? 0) + value)
    }
  }
  return { events, values, problems }
}

/** Why an event did not get there. `isFinal`: Stripe does not have it. */
interface SendRefusal {
  readonly problem: string
  readonly isFinal: boolean
}

const UNSURE: SendRefusal = {
  isFinal: false,
  problem:
    'an event was sent more than 23 hours ago, and its answer is not known: look for its identifier at Stripe, and set done_entry or sent_at_ms of sluice.ledger_exports',
}

const isUnsure = ({ sentAtMs }: MeterEvent, nowMs: number): boolean =>
  sentAtMs !== undefined && nowMs - sentAtMs > SURE_FOR_MS

/** Returns why Stripe did not take an event. Its key is in no error. */
async function send(
  event: MeterEvent,
  { key, url = URL_OF_STRIPE, eventNames }: StripeOptions,
): Promise<SendRefusal | undefined> {
  const { meterId, receiver, value, identifier, usedAtMs } = event
  const body = new URLSearchParams({
    event_name: eventNames.get(meterId)!,
    identifier,
    timestamp: String(Math.floor(usedAtMs / 1000)),
    'payload[stripe_customer_id]': receiver,
    'payload[value]': String(value),
  })
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': identifier }
  const request = { method: 'POST', headers, body, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
  try {
    const response = await fetch(new URL('/v1/billing/meter_events', url), request)
    const answer = (await response.json().catch(() => ({}))) as { error?: { message?: string } }
    if (response.ok) return undefined
    if (response.status === 401) throw new SluiceError('STRIPE_KEY_REFUSED', 'SLUICE_STRIPE_KEY', 'Stripe answered 401')
    const { status } = response
    const problem = `Stripe answered ${status}: ${answer.error?.message ?? 'without a reason'}`
    return { problem, isFinal: status >= 400 && status < 500 && status !== 409 && status !== 429 }
  } catch (error) {
    if (error instanceof SluiceError) throw error
    const { cause, message } = error as Error
    return { problem: `no answer from Stripe: ${cause instanceof Error ? cause.message : message}`, isFinal: false }
  }
}
