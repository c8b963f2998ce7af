import type { Database } from '../database/database.ts'
import type { UsageCount } from '../tables/usage-store.ts'

export type TierPeriod = '1h' | '24h' | '30d'

/** A TierUse is what the customers of one tier used. */
export interface TierUse {
  /** Undefined: customers without a tier. */
  readonly tier: string | undefined
  /** How many customers have the tier now. */
  readonly customers: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

export interface TierUsageParts {
  readonly db: Pick<Database, 'query'>
  /** What this node has counted and not written yet. */
  readonly waiting: () => Iterable<UsageCount>
  /** Everything that nodes counted before is written. */
  readonly completeUntilMs: () => Promise<number>
  /** Returns the current tier of a caller. */
  readonly tierOf: (customerId: string, keyId: string | undefined) => string | undefined
  readonly nowMs?: () => number
}

const HOUR_MS = 3_600_000
const HOURS: Readonly<Record<TierPeriod, number>> = { '1h': 1, '24h': 24, '30d': 720 }
/** Customers are counted one by one: a request within this time gets the previous result. */
const KEPT_MS = 2_000
/** How many tiers are reported, the ones with the most customers first. */
const MOST = 500

interface Answer {
  readonly sinceMs: number
  /** Everything that was counted before is in it. */
  readonly completeUntilMs: number
  readonly tiers: readonly TierUse[]
}

/**
 * Adds up what the database has by tier and hour, and what waits to be written. It reads rows by tiers, not by
 * customers.
 */
export class TierUsage {
  readonly #parts: TierUsageParts
  readonly #nowMs: () => number
  readonly #kept = new Map<TierPeriod, { readonly atMs: number; readonly answer: Promise<Answer> }>()

  constructor(parts: TierUsageParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? Date.now
  }

  byTier(period: TierPeriod): Promise<Answer> {
    const nowMs = this.#nowMs()
    const known = this.#kept.get(period)
    if (known !== undefined && Math.abs(nowMs - known.atMs) < KEPT_MS) return known.answer
    const answer = this.#read(Math.floor(nowMs / HOUR_MS) * HOUR_MS - HOURS[period] * HOUR_MS)
    this.#kept.set(period, { atMs: nowMs, answer })
    answer.catch(() => this.#kept.delete(period))
    return answer
  }

  async #read(sinceMs: number): Promise<Answer> {
    // Asked first: what is written later may be missing.
    const completeUntilMs = await this.#parts.completeUntilMs()
    const rows = await this.#parts.db.query<Row>(BY_TIER, [sinceMs, MOST])
    const byTier = new Map(rows.map((row) => [row.tier, row]))
    for (const { customerId, keyId, atMs, allowed, refused, cost } of this.#parts.waiting()) {
      if (atMs < sinceMs) continue
      const tier = this.#parts.tierOf(customerId, keyId) ?? ''
      const row = byTier.get(tier) ?? { tier, customers: 0, allowed: 0, refused: 0, cost: 0 }
      row.allowed += allowed
      row.refused += refused
      row.cost += cost
      byTier.set(tier, row)
    }
    return {
      sinceMs,
      completeUntilMs,
      tiers: [...byTier.values()].map((row): TierUse => ({ ...row, tier: row.tier || undefined })),
    }
  }
}

interface Row {
  readonly tier: string
  readonly customers: number
  allowed: number
  refused: number
  cost: number
}

const BY_TIER = `
WITH used AS (
  SELECT tier, sum(allowed)::int8 AS allowed, sum(refused)::int8 AS refused, sum(cost)::int8 AS cost
  FROM sluice.usage_by_tier WHERE hour >= to_timestamp($1::float8 / 1000) GROUP BY tier
), known AS (
  SELECT coalesce(tier, '') COLLATE "C" AS tier, count(*)::int8 AS customers FROM sluice.customers GROUP BY 1
)
SELECT coalesce(used.tier, known.tier) AS tier, coalesce(customers, 0) AS customers,
  coalesce(allowed, 0) AS allowed, coalesce(refused, 0) AS refused, coalesce(cost, 0) AS cost
FROM used FULL JOIN known ON used.tier = known.tier
ORDER BY 2 DESC, 1 LIMIT $2::int`
