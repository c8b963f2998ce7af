import { type AlgorithmRecord, noLog } from './algorithm.ts'
import { gcra, maxUnitsPerMs, timeOf } from './gcra.ts'
import type { LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'

/**
 * Lets hits out one by one at the limit's pace. A hit that finds others before it is admitted with the `delayMs` after
 * which its turn comes; one that finds the bucket full (`burst` hits, the one leaving now included) is refused. State:
 * one number, the moment at which the bucket runs dry: GCRA's arithmetic, read as a queue.
 */
export function leakyBucket(dryAtMs: number, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome): void {
  gcra(dryAtMs, limit, nowMs, cost, out)
  const ahead = Math.round(timeOf(dryAtMs) * limit.unitsPerMs) - nowMs * limit.unitsPerMs
  if (out.allowed && cost > 0 && ahead > 0) out.delayMs = Math.ceil(ahead / limit.unitsPerMs)
}

/** Each turn follows the one before, on whichever node: they cannot be lent. */
export const LEAKY_BUCKET: AlgorithmRecord = {
  letter: 'l',
  anchoredLetter: undefined,
  logLetter: undefined,
  stateNumbers: 1,
  isLeasable: false,
  holdsPermits: false,
  handsOutTurns: true,
  maxUnitsPerMs: maxUnitsPerMs,
  evaluateNumbers: (at, _first, _second, limit, nowMs, cost, out) => leakyBucket(at, limit, nowMs, cost, out),
  evaluateLog: noLog,
}
