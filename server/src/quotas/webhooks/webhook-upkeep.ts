import type { Database } from '../database/database.ts'

const DAY_MS = 86_400_000
/** Deliveries can be looked at for a month. */
const DELIVERIES_FOR_MS = 30 * DAY_MS
/** What was reported is remembered for longer than the longest period. */
const EVENTS_FOR_MS = 400 * DAY_MS

/** Removes deliveries and events that are no longer needed. */
export async function forgetOldWebhooks(db: Database, nowMs: number): Promise<void> {
  await db.query('DELETE FROM sluice.webhook_deliveries WHERE created_at < to_timestamp($1::float8 / 1000)', [
    nowMs - DELIVERIES_FOR_MS,
  ])
  await db.query('DELETE FROM sluice.webhook_events WHERE at < to_timestamp($1::float8 / 1000)', [
    nowMs - EVENTS_FOR_MS,
  ])
}
