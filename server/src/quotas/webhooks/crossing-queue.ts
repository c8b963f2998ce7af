import type { Database } from '../database/database.ts'
import type { Crossing } from '../usage/usage-news.ts'
import { onceOf, thresholdEvent } from './webhook-event.ts'

/**
 * How many crossings wait for the database at most. One that is dropped is found again with the caller's next request
 * elsewhere.
 */
const MAX_WAITING = 10_000
const BATCH_CROSSINGS = 500

/** A CrossingQueue makes deliveries of crossings: one for each endpoint that wants it, once. */
export class CrossingQueue {
  readonly #db: Database
  readonly #now: () => number
  readonly #waiting = new Map<string, Crossing>()

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db
    this.#now = now
  }

  take(crossings: readonly Crossing[]): void {
    for (const crossing of crossings) {
      if (this.#waiting.size < MAX_WAITING) this.#waiting.set(onceOf(crossing), crossing)
    }
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Writes deliveries to the database, and returns how many there are. It rejects when the database does. */
  async write(): Promise<number> {
    let deliveries = 0
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting].slice(0, BATCH_CROSSINGS)
      const rows = some.map(([once, crossing]) => ({
        once,
        body: thresholdEvent(crossing, this.#now()).body,
        customer_id: crossing.customerId,
        threshold: crossing.threshold,
      }))
      deliveries += (await this.#db.query(INSERT_DELIVERIES, [JSON.stringify(rows), this.#now()])).length
      for (const [once] of some) this.#waiting.delete(once)
    }
    return deliveries
  }
}

// In the order of keys, so that two nodes never wait for each other in a circle.
const INSERT_DELIVERIES = `
WITH crossing AS (
  SELECT DISTINCT ON (once) * FROM jsonb_to_recordset($1::jsonb) AS r (once text, body text, customer_id text, threshold int)
), fresh AS (
  INSERT INTO sluice.webhook_events (once, at) SELECT once, to_timestamp($2::float8 / 1000) FROM crossing ORDER BY once
  ON CONFLICT DO NOTHING RETURNING once
)
INSERT INTO sluice.webhook_deliveries (id, endpoint_id, once, event, body, next_at, created_at)
SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), e.id, c.once, 'quota.threshold', c.body,
  to_timestamp($2::float8 / 1000), to_timestamp($2::float8 / 1000)
FROM fresh JOIN crossing c USING (once)
JOIN sluice.webhook_endpoints e ON e.is_enabled AND (e.customer_id IS NULL OR e.customer_id = c.customer_id)
  AND e.events @> '["quota.threshold"]' AND e.thresholds @> to_jsonb(c.threshold)
ON CONFLICT DO NOTHING RETURNING id`
