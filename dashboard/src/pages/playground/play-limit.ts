import type { AlgorithmRecord } from 'sluice/internal/core/algorithms/algorithm'
import { ALGORITHMS, type Algorithm } from 'sluice/internal/core/algorithms/algorithms'
import { type LimitNumbers, MAX_COUNT } from 'sluice/internal/core/algorithms/limit-numbers'
import { paceOf } from 'sluice/internal/core/pace'

/** A PlayLimit is a limit as algorithms compute with it. */
export interface PlayLimit extends LimitNumbers {
  readonly algorithmRecord: AlgorithmRecord
}

/**
 * playLimit is compileLimit without its checks, calendars and errors, which are most of its size: what comes here is within bounds
 * already. Buckets have a burst, others do not use it.
 */
export function playLimit(
  algorithm: Algorithm,
  { limit, windowMs, burst }: { readonly limit: number; readonly windowMs: number; readonly burst: number },
): PlayLimit {
  const algorithmRecord = ALGORITHMS[algorithm]
  const finest = algorithmRecord.maxUnitsPerMs?.((burst * windowMs) / limit)
  const pace = finest === undefined ? undefined : paceOf(limit, windowMs, finest)
  const { unitsPerMs, unitsPerHit } = pace ?? { unitsPerMs: 0, unitsPerHit: 1 }
  const capacity = pace === undefined ? limit : burst
  return {
    algorithmRecord,
    max: limit,
    windowMs,
    capacity,
    unitsPerMs,
    unitsPerHit,
    fullUnits: capacity * unitsPerHit,
    quantumMs: 1,
    calendar: undefined,
    isAnchored: false,
    countDenied: false,
    maxUsed: MAX_COUNT,
  }
}
