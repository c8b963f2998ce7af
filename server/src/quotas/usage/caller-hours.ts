import type { Callers } from '../book/quota-book.ts'
import type { Database } from '../database/database.ts'
import type { UsageRow } from '../tables/usage-store.ts'

/** A CallerHour is what one caller did under one limit in an hour. */
export interface CallerHour extends Pick<UsageRow, 'customerId' | 'allowed' | 'refused' | 'cost'> {
  /** '': the caller had no key. */
  readonly keyId: string
  /** The domain and the id of the rule, with a slash between. */
  readonly limit: string
}

/** Sums what callers did in single hours, by key and limit, from what nodes have written. */
export class CallerHours {
  readonly #db: Pick<Database, 'query'>

  constructor(db: Pick<Database, 'query'>) {
    this.#db = db
  }

  async busiest({ customers, keys }: Callers, fromMs: number, toMs: number): Promise<number | undefined> {
    const [row] = await this.#db.query<{ atMs: number }>(BUSIEST, [[...customers], [...keys], fromMs, toMs])
    return row?.atMs
  }

  inHour({ customers, keys }: Callers, hourMs: number, most: number): Promise<readonly CallerHour[]> {
    return this.#db.query<CallerHour>(IN_HOUR, [[...customers], [...keys], hourMs, most])
  }
}

// Times are compared as numbers of seconds: a session's time zone has no say. A key without a customer has the customer ''.
const time = (ms: string): string => `to_timestamp(${ms}::float8 / 1000)`
const OF_CALLERS = `(customer_id = ANY($1::text[]) OR (customer_id = '' AND api_key_id = ANY($2::text[])))`

const BUSIEST = `
SELECT (extract(epoch FROM hour) * 1000)::int8 AS "atMs" FROM sluice.usage_hourly
WHERE ${OF_CALLERS} AND hour >= ${time('$3')} AND hour < ${time('$4')}
GROUP BY hour ORDER BY sum(allowed + refused) DESC, hour DESC LIMIT 1`

const IN_HOUR = `
SELECT customer_id AS "customerId", api_key_id AS "keyId", limit_name AS "limit", allowed, refused, cost
FROM sluice.usage_hourly WHERE ${OF_CALLERS} AND hour = ${time('$3')}
ORDER BY allowed + refused DESC, customer_id, limit_name, api_key_id LIMIT $4::int`
