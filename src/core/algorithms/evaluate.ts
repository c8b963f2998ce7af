import { concurrency } from './concurrency.ts'
import { fixedWindow } from './fixed-window.ts'
import { gcra } from './gcra.ts'
import { leakyBucket } from './leaky-bucket.ts'
import type { LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'
import { type HitLog, slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'
import { tokenBucket } from './token-bucket.ts'

/** evaluateNumbers runs the algorithm of a limit whose state is up to three numbers. An unused counter has at = NEVER. */
export function evaluateNumbers(
  at: number,
  first: number,
  second: number,
  limit: LimitNumbers,
  nowMs: number,
  cost: number,
  out: Outcome,
): void {
  switch (limit.algorithm) {
    case 'sliding_window':
      slidingWindow(at, first, second, limit, nowMs, cost, out)
      break
    case 'token_bucket':
      tokenBucket(at, first, limit, nowMs, cost, out)
      break
    case 'gcra':
      gcra(at, limit, nowMs, cost, out)
      break
    case 'leaky_bucket':
      leakyBucket(at, limit, nowMs, cost, out)
      break
    default:
      fixedWindow(at, first, limit, nowMs, cost, out)
  }
}

/** evaluateLog runs the algorithm of a limit whose state is a list of records (`limit.isLog`). */
export function evaluateLog(log: HitLog, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome): void {
  if (limit.algorithm === 'concurrency') concurrency(log, limit, nowMs, cost, out)
  else slidingLog(log, limit, nowMs, cost, out)
}
