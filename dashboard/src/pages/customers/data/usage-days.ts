import type { UsageRow } from '../../../api/operations.ts'

const DAY_MS = 86_400_000
export const SHOWN_DAYS = 30

/** A UsageDay is what one limit decided about on one day, in UTC. */
export interface UsageDay {
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  readonly cost: number
}

/** usageFrom is when the last thirty days began, today included: whole days of UTC, as usage is kept. */
export function usageFrom(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) - SHOWN_DAYS + 1) * DAY_MS
}

/** limitsIn lists the limits of rows, the busiest first. A request counts under each of its limits, so they are never added up. */
export function limitsIn(rows: readonly UsageRow[]): readonly string[] {
  const sums = new Map<string, number>()
  for (const { limit, allowed, refused } of rows) sums.set(limit, (sums.get(limit) ?? 0) + allowed + refused)
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([limit]) => limit)
}

/** daysOf is every day of the span for one limit. A day without a row had no requests. */
export function daysOf(rows: readonly UsageRow[], limit: string | undefined, fromMs: number): readonly UsageDay[] {
  const found = new Map(rows.filter((row) => row.limit === limit).map((row) => [Date.parse(row.at), row]))
  return Array.from({ length: SHOWN_DAYS }, (_, i) => {
    const atMs = fromMs + i * DAY_MS
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
