import type { Limit } from './limit.ts'

/**
 * For how long an eventual count may be behind: an interval, and half of one or 50 ms for the way, whichever is longer.
 */
export function eventualLifeMs(syncIntervalMs: number): number {
  return Math.ceil(syncIntervalMs + Math.max(syncIntervalMs / 2, 50))
}

/**
 * Returns the most that `nodes` nodes with eventual counting admit beyond the limit, in any window. Each has reported
 * everything except what it admitted since its last exchange, which is at most what remained then, and at most what its
 * rate (hits a second, if known) yields in that time; and one of them knows the reported hits of all others.
 */
export function overAdmission(limit: Limit, nodes: number, syncIntervalMs: number, ratePerNode?: number): number {
  const most =
    ratePerNode === undefined ? limit.capacity : Math.ceil((ratePerNode * eventualLifeMs(syncIntervalMs)) / 1000)
  return (nodes - 1) * Math.min(limit.capacity, most)
}
