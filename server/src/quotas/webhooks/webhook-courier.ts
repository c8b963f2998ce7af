import type { Actor } from '../audit/actor.ts'
import type { Database } from '../database/database.ts'
import { retryDelayMs } from './retry-schedule.ts'
import { goodSecrets, type SealedSecrets } from './sealed-secrets.ts'
import { type SendOptions, sendWebhook, type WebhookOutcome } from './send-webhook.ts'
import { webhookHeaders } from './signature.ts'

/** How a delivery went: it arrived, is tried again, was given up, or its endpoint is gone. */
export type DeliveryOutcome = 'delivered' | 'retried' | 'failed' | 'gone'

export interface WebhookCourierParts {
  readonly db: Database
  readonly sealed: SealedSecrets
  /** Switches off an endpoint that is gone. */
  readonly disable: (endpointId: string, reason: string, by: Actor) => Promise<void>
  readonly ended: (outcome: DeliveryOutcome, endpointId: string, error: string | undefined) => void
  readonly allowPrivate?: boolean
  readonly now?: () => number
  readonly random?: () => number
}

/**
 * Attempts that a node makes at a time, all together and to one endpoint: one that hangs does not hold up the others.
 */
const AT_ONCE = 16
const AT_ONCE_EACH = 2
const TIMEOUT_MS = 15_000
/** For how long a delivery is this node's. When the node ends in between, another one sends it after that. */
const CLAIM_MS = 60_000

const COURIER: Actor = {
  id: 'webhooks',
  name: 'webhooks',
  address: undefined,
  reason: 'the endpoint says that it is gone',
}

interface Claimed {
  readonly id: string
  readonly endpoint_id: string
  readonly body: string
  readonly attempts: number
  readonly url: string
  readonly secret: string
}

/** A WebhookCourier sends deliveries that are due. Any number of nodes may: each delivery is claimed by one of them. */
export class WebhookCourier {
  readonly #parts: WebhookCourierParts
  readonly #now: () => number
  readonly #random: () => number
  readonly #inFlight = new Map<Promise<void>, string>()
  #claiming: Promise<void> | undefined
  #isAskedAgain = false
  #isClosed = false

  constructor(parts: WebhookCourierParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
    this.#random = parts.random ?? Math.random
  }

  /** Starts to send what is due. It resolves when that is in flight, and rejects when the database does. */
  work(): Promise<void> {
    this.#isAskedAgain = this.#claiming !== undefined
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = undefined
    })
    return this.#claiming
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    while (this.#claiming !== undefined || this.#inFlight.size > 0) {
      await this.#claiming?.catch(() => {})
      await Promise.all(this.#inFlight.keys())
    }
  }

  /** Starts nothing more, and waits for what is in flight. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.idle()
  }

  async #claimAll(): Promise<void> {
    do {
      this.#isAskedAgain = false
      while (this.#inFlight.size < AT_ONCE && !this.#isClosed) {
        const claimed = await this.#claim()
        if (claimed === undefined) break
        this.#start(claimed)
      }
    } while (this.#isAskedAgain && !this.#isClosed)
  }

  async #claim(): Promise<Claimed | undefined> {
    const now = this.#now()
    const [claimed] = await this.#parts.db.query<Claimed>(CLAIM, [now, now + CLAIM_MS, JSON.stringify(this.#busy())])
    return claimed
  }

  /** #busy are endpoints that have enough to do. */
  #busy(): readonly string[] {
    const counts = new Map<string, number>()
    for (const endpoint of this.#inFlight.values()) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= AT_ONCE_EACH).map(([endpoint]) => endpoint)
  }

  #start(claimed: Claimed): void {
    // What could not be noted is sent again when the claim ends.
    const delivery: Promise<void> = this.#deliver(claimed)
      .catch(() => {})
      .then(() => {
        this.#inFlight.delete(delivery)
        if (!this.#isClosed) void this.work().catch(() => {})
      })
    this.#inFlight.set(delivery, claimed.endpoint_id)
  }

  async #deliver(claimed: Claimed): Promise<void> {
    const result = await this.#send(claimed)
    const ended = this.#endOf(claimed, result)
    await this.#parts.db.query(FINISH, [
      claimed.id,
      ended.state,
      ended.nextAtMs ?? null,
      result.status ?? null,
      result.error ?? null,
      this.#now(),
    ])
    if (ended.outcome === 'gone') await this.#parts.disable(claimed.endpoint_id, 'answered 410', COURIER)
    this.#parts.ended(ended.outcome, claimed.endpoint_id, result.error)
  }

  #send({ id, endpoint_id, body, url, secret }: Claimed): Promise<WebhookOutcome> | WebhookOutcome {
    const nowMs = this.#now()
    let headers: Record<string, string>
    try {
      const secrets = goodSecrets(this.#parts.sealed.open(endpoint_id, secret), nowMs)
      headers = webhookHeaders({ id, timestampS: Math.floor(nowMs / 1000), body }, secrets)
    } catch {
      return { isDelivered: false, status: undefined, error: 'its secret cannot be read', isGone: false }
    }
    const options: SendOptions = { timeoutMs: TIMEOUT_MS, allowPrivate: this.#parts.allowPrivate ?? false }
    return sendWebhook(url, headers, body, options)
  }

  #endOf({ attempts }: Claimed, { isDelivered, isGone }: WebhookOutcome) {
    if (isDelivered) return { outcome: 'delivered', state: 'delivered' } as const
    if (isGone) return { outcome: 'gone', state: 'failed' } as const
    const delayMs = retryDelayMs(attempts + 1, this.#random())
    if (delayMs === undefined) return { outcome: 'failed', state: 'failed' } as const
    return { outcome: 'retried', state: 'waiting', nextAtMs: this.#now() + delayMs } as const
  }
}

const CLAIM = `
UPDATE sluice.webhook_deliveries AS d SET next_at = to_timestamp($2::float8 / 1000)
FROM sluice.webhook_endpoints AS e
WHERE e.id = d.endpoint_id AND d.id = (
  SELECT w.id FROM sluice.webhook_deliveries w JOIN sluice.webhook_endpoints o ON o.id = w.endpoint_id
  WHERE w.state = 'waiting' AND w.next_at <= to_timestamp($1::float8 / 1000) AND o.is_enabled AND NOT ($3::jsonb ? o.id)
  ORDER BY w.next_at LIMIT 1 FOR UPDATE OF w SKIP LOCKED
) RETURNING d.id, d.endpoint_id, d.body, d.attempts, e.url, e.secret`

const FINISH = `
UPDATE sluice.webhook_deliveries SET state = $2, attempts = attempts + 1, last_status = $4::int, last_error = $5,
  next_at = to_timestamp($3::float8 / 1000),
  finished_at = CASE WHEN $2 = 'waiting' THEN NULL ELSE to_timestamp($6::float8 / 1000) END
WHERE id = $1`
