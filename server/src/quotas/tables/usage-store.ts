import type { Database } from '../database/database.ts'

export interface UsageQuery {
  readonly customerId?: string | undefined
  readonly fromMs: number
  readonly toMs: number
  readonly granularity: 'hour' | 'day'
  readonly after?: string | undefined
  readonly limit: number
}

/** A UsageRow is what one customer did under one limit in one hour or day. */
export interface UsageRow {
  readonly customerId: string
  readonly limit: string
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

/** A UsageCount is what one caller did under one limit, within an hour. */
export interface UsageCount {
  readonly customerId: string
  /** Undefined: the caller had no key. */
  readonly keyId?: string | undefined
  readonly limit: string
  /** Any time within the hour. */
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

/** A UsageBatch is what a node counted since the last one. The id is the node's own, and the same when it is sent again. */
export interface UsageBatch {
  readonly node: string
  readonly id: string
  readonly counts: readonly UsageCount[]
}

export interface UsageRetention {
  readonly hoursForMs: number
  readonly daysForMs: number
}

const DAY_MS = 86_400_000

/** Hours for 35 days, days for 25 months: last month and last year can be compared with this one. */
export const USAGE_RETENTION: UsageRetention = { hoursForMs: 35 * DAY_MS, daysForMs: 761 * DAY_MS }

/** A node sends a batch again for minutes, not for days. */
const BATCHES_FOR_MS = 7 * DAY_MS

/**
 * A UsageStore keeps what customers used, by hours and days of UTC. A day in another time zone is the sum of its hours, as long as those
 * are kept.
 */
export class UsageStore {
  readonly #db: Database
  readonly #now: () => number

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db
    this.#now = now
  }

  /** Counts a batch once: one that was counted before changes nothing. Returns whether it was counted now. */
  async add({ node, id, counts }: UsageBatch): Promise<boolean> {
    const rows = counts.map((each) => ({
      customer_id: each.customerId,
      api_key_id: each.keyId ?? '',
      limit_name: each.limit,
      at: each.atMs,
      allowed: each.allowed,
      refused: each.refused,
      cost: each.cost,
    }))
    const [{ counted }] = await this.#db.query<{ counted: boolean }>(ADD, [node, id, JSON.stringify(rows)])
    return counted
  }

  /** Sums up hours that are old enough as days, and deletes what is older still. It may run on several nodes. */
  async rollUp({ hoursForMs, daysForMs }: UsageRetention = USAGE_RETENTION): Promise<void> {
    const now = this.#now()
    // Whole days only, so that a day is not half in one table and half in the other for longer than it must be.
    const hoursBefore = Math.floor((now - hoursForMs) / DAY_MS) * DAY_MS
    await this.#db.transaction(async (tx) => {
      await tx.query(ROLL_UP, [hoursBefore])
      await tx.query('DELETE FROM sluice.usage_by_tier WHERE hour < to_timestamp($1::float8 / 1000)', [hoursBefore])
      await tx.query('DELETE FROM sluice.usage_daily WHERE day < to_timestamp($1::float8 / 1000)', [now - daysForMs])
      await tx.query('DELETE FROM sluice.usage_batches WHERE at < to_timestamp($1::float8 / 1000)', [
        now - BATCHES_FOR_MS,
      ])
    })
  }
}

// Times are compared as numbers of seconds: a session's time zone has no say.
const hourOf = (ms: string): string => `to_timestamp(floor(${ms} / 3600000) * 3600)`
const dayOf = (time: string): string => `to_timestamp(floor(extract(epoch FROM ${time}) / 86400) * 86400)`

/** A node's part of what it shares with others: one of sixteen. */
const PART = "('x' || left(md5($1), 1))::bit(4)::int::int2"

// In the order of keys, so that two nodes never wait for each other in a circle.
const ADD = `
WITH fresh AS (
  INSERT INTO sluice.usage_batches (node, batch) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1
), added AS (
  INSERT INTO sluice.usage_hourly (customer_id, api_key_id, limit_name, hour, allowed, refused, cost)
  SELECT customer_id, api_key_id, limit_name, ${hourOf('at')}, sum(allowed), sum(refused), sum(cost)
  FROM jsonb_to_recordset($3::jsonb) AS r
    (customer_id text, api_key_id text, limit_name text, at float8, allowed int8, refused int8, cost int8)
  WHERE EXISTS (SELECT FROM fresh)
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 4, 3, 2
  ON CONFLICT (customer_id, hour, limit_name, api_key_id) DO UPDATE SET
    allowed = sluice.usage_hourly.allowed + excluded.allowed,
    refused = sluice.usage_hourly.refused + excluded.refused,
    cost = sluice.usage_hourly.cost + excluded.cost
), added_by_tier AS (
  INSERT INTO sluice.usage_by_tier (hour, tier, part, allowed, refused, cost)
  SELECT ${hourOf('r.at')}, coalesce(k.tier, c.tier, ''), ${PART}, sum(allowed), sum(refused), sum(cost)
  FROM jsonb_to_recordset($3::jsonb) AS r
    (customer_id text, api_key_id text, at float8, allowed int8, refused int8, cost int8)
  LEFT JOIN sluice.customers c ON c.id = r.customer_id
  LEFT JOIN sluice.api_keys k ON k.id = r.api_key_id
  WHERE EXISTS (SELECT FROM fresh)
  GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (hour, tier, part) DO UPDATE SET
    allowed = sluice.usage_by_tier.allowed + excluded.allowed,
    refused = sluice.usage_by_tier.refused + excluded.refused,
    cost = sluice.usage_by_tier.cost + excluded.cost
)
SELECT EXISTS (SELECT FROM fresh) AS counted`

const ROLL_UP = `
WITH old AS (
  DELETE FROM sluice.usage_hourly WHERE hour < to_timestamp($1::float8 / 1000)
  RETURNING customer_id, api_key_id, limit_name, hour, allowed, refused, cost
)
INSERT INTO sluice.usage_daily (customer_id, api_key_id, limit_name, day, allowed, refused, cost)
SELECT customer_id, api_key_id, limit_name, ${dayOf('hour')}, sum(allowed), sum(refused), sum(cost) FROM old
GROUP BY 1, 2, 3, 4 ORDER BY 1, 4, 3, 2
ON CONFLICT (customer_id, day, limit_name, api_key_id) DO UPDATE SET
  allowed = sluice.usage_daily.allowed + excluded.allowed,
  refused = sluice.usage_daily.refused + excluded.refused,
  cost = sluice.usage_daily.cost + excluded.cost`
