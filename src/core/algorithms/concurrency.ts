import type { LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'
import { type HitLog, slidingLog } from './sliding-log.ts'

/**
 * concurrency admits while the holders, plus the cost, are at most the limit. A holder is a record that leaves when it
 * is released, or when its lease has run out (`windowMs` is the lease's time to live), so that the place of a holder
 * that crashed comes back. By time alone it is the sliding log; releasing a record early is the store's part.
 */
export function concurrency(holders: HitLog, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome): void {
  slidingLog(holders, limit, nowMs, cost, out)
}
