import { type AlgorithmRecord, noLog } from './algorithm.ts'
import { askedBy, chargedOf, type LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'

/**
 * Counts hits in windows that follow each other, aligned to 1970, to the calendar of a time zone, or (when anchored) to
 * the first hit after the last window. State: the window's start and its count. Around a boundary it admits up to twice
 * the limit; that is the price of one count.
 *
 * A clock that went back keeps the count in a window that starts now.
 */
export function fixedWindow(
  start: number,
  count: number,
  limit: LimitNumbers,
  nowMs: number,
  cost: number,
  out: Outcome,
): void {
  if (count === 0 || nowMs - start >= limit.windowMs || nowMs >= endOf(start, limit)) {
    start = startOf(limit, nowMs)
    count = 0
  } else if (nowMs < start) {
    start = nowMs
  }
  const endMs = endOf(start, limit)
  const asked = askedBy(cost)
  out.delayMs = 0
  out.dropped = 0
  out.impossible = asked > limit.max
  out.allowed = count + asked <= limit.max || cost < 0
  if (out.allowed) {
    out.retryAfterMs = 0
    count = Math.max(count + cost, 0)
  } else {
    out.retryAfterMs = out.impossible ? 0 : endMs - nowMs
    if (limit.countDenied) {
      const charged = chargedOf(cost, count, limit)
      count += charged
      out.dropped = cost - charged
    }
  }
  out.remaining = count < limit.max ? limit.max - count : 0
  out.resetAfterMs = count > 0 || out.impossible ? endMs - nowMs : 0
  out.expiresAtMs = count > 0 ? endMs : nowMs
  out.at = start
  out.first = count
  out.second = 0
}

/** Returns where the window begins whose first hit comes now. */
function startOf(limit: LimitNumbers, nowMs: number): number {
  if (limit.isAnchored) return nowMs
  return limit.calendar ? limit.calendar.windowAt(nowMs).startMs : nowMs - (nowMs % limit.windowMs)
}

/** Returns the end of the window that starts at `start`; one that does not start on the grid lasts as long. */
function endOf(start: number, limit: LimitNumbers): number {
  if (limit.calendar === undefined) return start + limit.windowMs
  const window = limit.calendar.windowAt(start)
  return start + (window.endMs - window.startMs)
}

export const FIXED_WINDOW: AlgorithmRecord = {
  letter: 'f',
  anchoredLetter: 'a',
  logLetter: undefined,
  stateNumbers: 2,
  isLeasable: true,
  holdsPermits: false,
  handsOutTurns: false,
  maxUnitsPerMs: undefined,
  evaluateNumbers: (at, first, _, limit, nowMs, cost, out) => fixedWindow(at, first, limit, nowMs, cost, out),
  evaluateLog: noLog,
}
