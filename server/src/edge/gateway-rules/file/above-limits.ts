import { parseDuration } from 'sluice/internal/core/duration'
import type { Unit } from 'sluice/internal/core/limit-options'
import { UNIT_MS } from 'sluice/internal/core/rules/compile-rule'
import { type Rate, readRate } from './rate.ts'
import type { LimitObject, RoutesFile } from './schema.ts'

/**
 * Returns a rate, or a higher one where a limit of a file allows more: a default refuses no request that a limit is to
 * admit.
 */
export function aboveLimits(rate: Rate, { limits = [], routes = [] }: RoutesFile): Rate {
  let { count } = rate
  for (const limit of [...limits, ...routes.flatMap((route) => route.limits ?? [])]) {
    const allowed = rateOf(limit)
    if (allowed !== undefined) count = Math.max(count, Math.ceil((allowed.count * rate.windowMs) / allowed.windowMs))
  }
  return { ...rate, count }
}

/** Errors in a limit are reported where it is defined. */
function rateOf(limit: string | LimitObject): Rate | undefined {
  try {
    if (typeof limit === 'string') return readRate(limit, '')
    const { requests_per_unit: count, unit, window, algorithm } = limit
    if (count === undefined || algorithm === 'concurrency') return undefined
    if (unit !== undefined) return { count, windowMs: UNIT_MS[unit.toLowerCase() as Unit] }
    return window === undefined ? undefined : { count, windowMs: Math.max(1, parseDuration(window, '')) }
  } catch {
    return undefined
  }
}
