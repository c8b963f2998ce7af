import { readCursor, writeCursor } from '../audit/cursor.ts'
import type { Database, Page } from '../database/database.ts'
import type { UsageQuery, UsageRow } from '../tables/usage-store.ts'

const MOST = 5_000

/** Reads usage for the admin API: by time, then customer, then limit; all keys of a customer together. */
export class UsagePages {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async read({ customerId, fromMs, toMs, granularity, after, limit }: UsageQuery): Promise<Page<UsageRow>> {
    const most = Math.min(Math.max(Math.trunc(limit) || 1, 1), MOST)
    const [afterMs, afterCustomer, afterLimit] = after === undefined ? [null, null, null] : placeOf(after)
    const found = await this.#db.query<UsageRow>(granularity === 'hour' ? HOURS : DAYS, [
      customerId ?? null,
      fromMs,
      toMs,
      afterMs,
      afterCustomer,
      afterLimit,
      most + 1,
    ])
    const items = found.slice(0, most)
    const last = items[items.length - 1]
    const next = found.length > most ? JSON.stringify([last.atMs, last.customerId, last.limit]) : undefined
    return { items, next: next && writeCursor('usage', next) }
  }
}

function placeOf(after: string): readonly [ms: number, customerId: string, limit: string] {
  return JSON.parse(readCursor(after, 'usage'))
}

// Times are compared as numbers of seconds: a session's time zone has no say.
const time = (ms: string): string => `to_timestamp(${ms}::float8 / 1000)`
const dayOf = (hour: string): string => `to_timestamp(floor(extract(epoch FROM ${hour}) / 86400) * 86400)`
const FIELDS = 'customer_id, limit_name, allowed, refused, cost'
const SUMS = 'sum(allowed)::int8 AS allowed, sum(refused)::int8 AS refused, sum(cost)::int8 AS cost'

/** A page is found by the time that it begins with, not by reading all before it. */
const page = (rows: string): string => `
SELECT customer_id AS "customerId", limit_name AS "limit", (extract(epoch FROM at) * 1000)::int8 AS "atMs", ${SUMS}
FROM (${rows}) AS rows
WHERE ($4::float8 IS NULL OR (at, customer_id, limit_name) > (${time('$4')}, $5::text, $6::text))
GROUP BY at, customer_id, limit_name ORDER BY at, customer_id, limit_name LIMIT $7::int`

const FROM = `greatest(${time('$2')}, coalesce(${time('$4')}, ${time('$2')}))`
const OF_CUSTOMER = '($1::text IS NULL OR customer_id = $1)'

const HOURS = page(
  `SELECT ${FIELDS}, hour AS at FROM sluice.usage_hourly WHERE ${OF_CUSTOMER} AND hour >= ${FROM} AND hour < ${time('$3')}`,
)

// A day counts when it begins within the time that was asked for.
const DAYS = page(`
  SELECT * FROM (
    SELECT ${FIELDS}, ${dayOf('hour')} AS at FROM sluice.usage_hourly
    WHERE ${OF_CUSTOMER} AND hour >= ${FROM} AND hour < ${time('$3')} + interval '24 hours'
    UNION ALL
    SELECT ${FIELDS}, day AS at FROM sluice.usage_daily WHERE ${OF_CUSTOMER} AND day >= ${FROM} AND day < ${time('$3')}
  ) AS days WHERE at >= ${time('$2')} AND at < ${time('$3')}`)
