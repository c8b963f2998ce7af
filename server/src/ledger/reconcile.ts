import type { Database } from '../quotas/database/database.ts'
import { bulkOf } from './tables/bulk.ts'

/** A MeterLimit is a rule with a meter, by the name that usage has of it. */
export interface MeterLimit {
  readonly limit: string
  readonly meterId: string
  /** What each request takes, where that is not its cost. */
  readonly amount: number | undefined
}

/** A Drift is what the ledger booked for rules in a period, less what usage says that they admitted. */
export interface Drift {
  readonly customerId: string
  readonly meterId: string
  readonly startMs: number
  readonly endMs: number
  readonly booked: number
  readonly usage: number
  readonly drift: number
}

export interface Reconciliation {
  readonly periods: number
  /** By meter: the sum of what its accounts drift, in either direction. */
  readonly meters: ReadonlyMap<string, number>
  /** The largest first. Those that do not drift are left out. */
  readonly drifts: readonly Drift[]
}

/** For how long usage is kept by the hour: periods that ended before are not compared. */
const SINCE_MS = 35 * 86_400_000
const MOST_DRIFTS = 1_000
const TEN_MINUTES_MS = 600_000

// The ids of rules begin with `rule-`: what callers reserve and book at the doors is no hit of a rule.
const RECONCILE = (limits: string): string => `
WITH limits AS MATERIALIZED (SELECT * FROM ${limits}),
periods AS MATERIALIZED (
  SELECT a.id, a.customer_id, a.meter_id, p.start_ms, p.end_ms FROM sluice.ledger_accounts a
  CROSS JOIN LATERAL (
    SELECT a.period_start_ms AS start_ms, a.period_end_ms AS end_ms WHERE a.period_start_ms IS NOT NULL
    UNION ALL SELECT start_ms, end_ms FROM sluice.ledger_periods e
    WHERE e.account_id = a.id AND e.end_ms > (extract(epoch FROM now()) * 1000)::int8 - ${SINCE_MS}) AS p
  WHERE a.meter_id IN (SELECT meter_id FROM limits)),
booked AS (
  SELECT e.account_id AS id, e.period_ms AS start_ms,
    sum(CASE e.kind WHEN 'use' THEN e.amount WHEN 'return' THEN -e.amount ELSE 0 END) AS amount
  FROM periods p JOIN sluice.ledger_entries e ON e.account_id = p.id AND e.period_ms = p.start_ms
  WHERE e.id LIKE 'rule-%' GROUP BY 1, 2),
rows AS (
  SELECT customer_id, limit_name, hour AS at, allowed, cost FROM sluice.usage_hourly
  UNION ALL SELECT customer_id, limit_name, day, allowed, cost FROM sluice.usage_daily),
used AS (
  SELECT p.id, p.start_ms, sum(CASE WHEN l.amount IS NULL THEN r.cost ELSE r.allowed * l.amount END) AS amount
  FROM periods p JOIN limits l USING (meter_id)
  JOIN rows r ON r.customer_id = p.customer_id AND r.limit_name = l.limit_name
    AND r.at >= to_timestamp(p.start_ms / 1000.0) AND r.at < to_timestamp(p.end_ms / 1000.0)
  GROUP BY 1, 2)
SELECT p.customer_id, p.meter_id, p.start_ms, p.end_ms, coalesce(b.amount, 0)::int8 AS booked,
  coalesce(u.amount, 0)::int8 AS usage
FROM periods p LEFT JOIN booked b USING (id, start_ms) LEFT JOIN used u USING (id, start_ms)`

interface DriftRow {
  readonly customer_id: string
  readonly meter_id: string
  readonly start_ms: number
  readonly end_ms: number
  readonly booked: number
  readonly usage: number
}

/**
 * Compares what the ledger booked for rules with their usage, by customer and period. It only reads, at one moment, and
 * may run at any time: what was counted in the last seconds may not be written yet.
 */
export async function reconcile(db: Database, limits: readonly MeterLimit[]): Promise<Reconciliation> {
  const { from, values } = bulkOf(limits, [
    ['limit_name', 'text', ({ limit }) => limit],
    ['meter_id', 'text', ({ meterId }) => meterId],
    ['amount', 'int8', ({ amount }) => amount],
  ])
  const rows = await db.transaction((tx) => tx.query<DriftRow>(RECONCILE(from), values), {
    snapshot: true,
    statementTimeoutMs: TEN_MINUTES_MS,
  })
  const meters = new Map(limits.map(({ meterId }) => [meterId, 0]))
  const drifts: Drift[] = []
  for (const { customer_id, meter_id, start_ms, end_ms, booked, usage } of rows) {
    const drift = booked - usage
    meters.set(meter_id, (meters.get(meter_id) ?? 0) + Math.abs(drift))
    const about = { customerId: customer_id, meterId: meter_id, startMs: start_ms, endMs: end_ms }
    if (drift !== 0) drifts.push({ ...about, booked, usage, drift })
  }
  drifts.sort((a, b) => Math.abs(b.drift) - Math.abs(a.drift))
  return { periods: rows.length, meters, drifts: drifts.slice(0, MOST_DRIFTS) }
}
