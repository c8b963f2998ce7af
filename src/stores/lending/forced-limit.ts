import type { Limit } from '../../core/limit.ts'

const FORCED = new WeakMap<Limit, Limit>()

/** Returns the same limit for charges of what was admitted already: what does not fit counts all the same. */
export function forcedLimit(limit: Limit): Limit {
  if (limit.countDenied) return limit
  const known = FORCED.get(limit)
  if (known !== undefined) return known
  const forced = Object.freeze({ ...limit, countDenied: true })
  FORCED.set(limit, forced)
  return forced
}
