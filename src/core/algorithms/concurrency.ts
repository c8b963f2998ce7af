import { type AlgorithmRecord, noNumbers } from './algorithm.ts'
import type { HitLog } from './hit-log.ts'
import type { LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'
import { slidingLog } from './sliding-log.ts'

/**
 * Admits while the permits that are held, plus the cost, are at most the limit. A permit is a record that leaves when
 * it is released, or after `windowMs`, so that the permit of a holder that crashed becomes available again. By time
 * alone it is the sliding log; releasing a record early, and moving one to now when its holder is still at work, is the
 * store's part.
 */
export function concurrency(permits: HitLog, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome): void {
  slidingLog(permits, limit, nowMs, cost, out)
}

/** Permits are held, not spent: they cannot be lent. */
export const CONCURRENCY: AlgorithmRecord = {
  letter: 'c',
  anchoredLetter: undefined,
  logLetter: 'c',
  stateNumbers: 0,
  isLeasable: false,
  holdsPermits: true,
  handsOutTurns: false,
  maxUnitsPerMs: undefined,
  evaluateNumbers: noNumbers,
  evaluateLog: concurrency,
}
