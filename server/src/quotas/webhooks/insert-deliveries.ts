import type { Sql } from '../database/database.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** A ThresholdEvent goes to the endpoints that want its type, its customer and its threshold. */
export interface ThresholdEvent extends WebhookEvent {
  readonly customerId: string
  readonly threshold: number
}

/** Makes deliveries of events, one for each endpoint that wants it, once. Returns how many there are. */
export async function insertDeliveries(sql: Sql, events: readonly ThresholdEvent[], atMs: number): Promise<number> {
  const rows = events.map(({ customerId, ...event }) => ({ ...event, customer_id: customerId }))
  return (await sql.query(INSERT_DELIVERIES, [JSON.stringify(rows), atMs])).length
}

// In the order of keys, so that two nodes never wait for each other in a circle.
const INSERT_DELIVERIES = `
WITH event AS (
  SELECT DISTINCT ON (once) * FROM jsonb_to_recordset($1::jsonb)
    AS r (once text, type text, body text, customer_id text, threshold int)
), fresh AS (
  INSERT INTO sluice.webhook_events (once, at) SELECT once, to_timestamp($2::float8 / 1000) FROM event ORDER BY once
  ON CONFLICT DO NOTHING RETURNING once
)
INSERT INTO sluice.webhook_deliveries (id, endpoint_id, once, event, body, next_at, created_at)
SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), e.id, v.once, v.type, v.body,
  to_timestamp($2::float8 / 1000), to_timestamp($2::float8 / 1000)
FROM fresh JOIN event v USING (once)
JOIN sluice.webhook_endpoints e ON e.is_enabled AND (e.customer_id IS NULL OR e.customer_id = v.customer_id)
  AND e.events @> to_jsonb(v.type) AND e.thresholds @> to_jsonb(v.threshold)
ON CONFLICT DO NOTHING RETURNING id`
