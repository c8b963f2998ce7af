import type { Limit } from './limit.ts'

/** For how long an eventual count may be behind: an interval, and half of one or 50 ms for the way, whichever is longer. */
export function eventualLifeMs(syncIntervalMs: number): number {
  return Math.ceil(syncIntervalMs + Math.max(syncIntervalMs / 2, 50))
}

/**
 * overAdmission returns the most that `nodes` nodes which count eventually admit beyond the limit, in any window. Each of
 * them has told all but what it admitted since its last exchange, which is at most all that was left then, and at most
 * what its rate (hits a second, if it is known) gives in that time; and one of them knows of all the others' told hits.
 */
export function overAdmission(limit: Limit, nodes: number, syncIntervalMs: number, ratePerNode?: number): number {
  const most =
    ratePerNode === undefined ? limit.capacity : Math.ceil((ratePerNode * eventualLifeMs(syncIntervalMs)) / 1000)
  return (nodes - 1) * Math.min(limit.capacity, most)
}
