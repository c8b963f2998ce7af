import type { UsageRow } from '../../api/operations.ts'

const DAY_MS = 86_400_000
export const SHOWN_DAYS = 30

/** A UsageDay is what one limit decided about on one day, in UTC. */
export interface UsageDay {
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

/** usageSpan is the last thirty days, today included: whole days of UTC, as usage is kept. */
export function usageSpan(nowMs: number): { readonly from: string; readonly to: string } {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  return {
    from: new Date(today - (SHOWN_DAYS - 1) * DAY_MS).toISOString(),
    to: new Date(today + DAY_MS).toISOString(),
  }
}

/** limitsIn lists the limits of rows, the busiest first. A request counts under each of its limits, so they are never added up. */
export function limitsIn(rows: readonly UsageRow[]): readonly string[] {
  const sums = new Map<string, number>()
  for (const { limit, allowed, refused } of rows) sums.set(limit, (sums.get(limit) ?? 0) + allowed + refused)
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([limit]) => limit)
}

/** daysOf is every day of the span for one limit. A day without a row had no requests. */
export function daysOf(rows: readonly UsageRow[], limit: string | undefined, from: string): readonly UsageDay[] {
  const found = new Map(rows.filter((row) => row.limit === limit).map((row) => [Date.parse(row.at), row]))
  return Array.from({ length: SHOWN_DAYS }, (_, i) => {
    const atMs = Date.parse(from) + i * DAY_MS
    const { allowed = 0, refused = 0, cost = 0 } = found.get(atMs) ?? {}
    return { atMs, allowed, refused, cost }
  })
}

/** sumOf adds up days. */
export function sumOf(days: readonly UsageDay[]): Omit<UsageDay, 'atMs'> {
  const sum = { allowed: 0, refused: 0, cost: 0 }
  for (const { allowed, refused, cost } of days) {
    sum.allowed += allowed
    sum.refused += refused
    sum.cost += cost
  }
  return sum
}
