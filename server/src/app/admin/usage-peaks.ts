import type { UsageFigures } from '../../quotas/book/preview.ts'
import type { UsageRow, UsageStore } from '../../quotas/ports.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS
/** How many customers are compared with last week: each is a question to the database. */
export const MAX_COMPARED = 100
/** Hours of a week, of a few limits. */
const MAX_ROWS = 5_000

/** Peaks are what customers did last week. */
export interface Peaks extends UsageFigures {
  /** The hour of the most requests of all; undefined where there were none. */
  readonly busiestAtMs: number | undefined
  /** Requests of each customer in its own busiest hour, together. */
  readonly requests: number
}

/** readPeaks reads last week's use of some customers, by the hour. */
export async function readPeaks(usage: UsageStore, customers: readonly string[], nowMs: number): Promise<Peaks> {
  const rows = new Map<string, readonly UsageRow[]>()
  for (const customerId of customers) {
    const query = { customerId, fromMs: nowMs - WEEK_MS, toMs: nowMs, granularity: 'hour', limit: MAX_ROWS } as const
    rows.set(customerId, (await usage.read(query)).items)
  }
  const byHour = new Map<number, number>()
  for (const { atMs, allowed, refused } of [...rows.values()].flat())
    byHour.set(atMs, (byHour.get(atMs) ?? 0) + allowed + refused)
  const [busiest] = [...byHour].sort(([, a], [, b]) => b - a)
  return {
    busiestAtMs: busiest?.[0],
    requests: [...rows.values()].reduce((sum, own) => sum + (mostIn(own, HOUR_MS) ?? 0), 0),
    peakPerWindow: (customerId, descriptor, windowMs) =>
      mostIn(
        (rows.get(customerId) ?? []).filter(({ limit }) => limit === descriptor),
        windowMs,
      ),
  }
}

/**
 * mostIn is the most requests in one window. Use is known by the hour: of a shorter window, it is the mean of the busiest hour; of a
 * longer one, the sum of the hours that it spans.
 */
function mostIn(rows: readonly UsageRow[], windowMs: number): number | undefined {
  if (rows.length === 0) return undefined
  const spanMs = Math.max(windowMs, HOUR_MS)
  const bySpan = new Map<number, number>()
  for (const { atMs, allowed, refused } of rows) {
    const at = Math.floor(atMs / spanMs)
    bySpan.set(at, (bySpan.get(at) ?? 0) + allowed + refused)
  }
  return Math.ceil((Math.max(...bySpan.values()) * Math.min(windowMs, HOUR_MS)) / HOUR_MS)
}
