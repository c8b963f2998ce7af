import type { AlgorithmRecord } from './algorithm.ts'
import { askedBy, chargedOf, type LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'
import { slidingLog } from './sliding-log.ts'

/**
 * Admits when ⌊previous × overlap⌋ + current + cost ≤ limit, where overlap is the share of the previous window that the
 * trailing window still covers. Times are whole milliseconds and the trailing window is (now − W, now], so in the first
 * millisecond of a window one of the previous has already left: overlap is (W − 1 − elapsed) / W. A caller that keeps
 * to the rate is therefore never refused. State: the window's start, the counts of the previous and the current window.
 * All comparisons are between whole numbers (both sides times the window), exact while limit × windowMs is below 2^53;
 * above, what is reported and what is admitted still agree to the millisecond and the hit.
 *
 * A clock that goes back keeps its counts: the window restarts in the next millisecond, until when the previous one
 * counts in full. So no budget is handed out, and no caller waits longer than for a window about to begin. An unused
 * counter restarts on the grid.
 */
export function slidingWindow(
  start: number,
  previous: number,
  current: number,
  limit: LimitNumbers,
  nowMs: number,
  cost: number,
  out: Outcome,
): void {
  const windowMs = limit.windowMs
  const ageMs = nowMs - start
  if (ageMs >= windowMs || (previous === 0 && current === 0)) {
    const isNext = current > 0 && ageMs < 2 * windowMs
    previous = isNext ? current : 0
    start = isNext ? start + windowMs : nowMs - (nowMs % windowMs)
    current = 0
  } else if (ageMs < 0) {
    start = nowMs + 1
  }
  const leftMs = windowMs - (nowMs - start)
  const asked = askedBy(cost)
  const free = limit.max - current - asked
  out.delayMs = 0
  out.dropped = 0
  out.impossible = asked > limit.max
  out.allowed = !out.impossible && (previous * (leftMs - 1) < (free + 1) * windowMs || cost < 0)
  if (out.allowed) {
    out.retryAfterMs = 0
    if (cost >= 0) current += cost
    else {
      const leftover = -cost - current
      current = leftover < 0 ? -leftover : 0
      if (leftover > 0) previous = previous > leftover ? previous - leftover : 0
    }
  } else {
    if (limit.countDenied) {
      const charged = chargedOf(cost, Math.floor((previous * (leftMs - 1)) / windowMs) + current, limit)
      current += charged
      out.dropped = cost - charged
    }
    out.retryAfterMs = out.impossible ? 0 : waitMs(previous, current, leftMs, limit, asked)
  }
  out.remaining = roomFor(previous, current, leftMs, limit)
  out.resetAfterMs = current > 0 || previous > 0 || out.impossible ? leftMs : 0
  out.expiresAtMs = current > 0 ? start + 2 * windowMs : previous > 0 ? start + windowMs : nowMs
  out.at = start
  out.first = previous
  out.second = current
}

/** Returns the largest whole cost that fits now. */
function roomFor(previous: number, current: number, leftMs: number, limit: LimitNumbers): number {
  if (previous === 0) return current < limit.max ? limit.max - current : 0
  const weight = previous * (leftMs - 1)
  const used = Math.floor(weight / limit.windowMs)
  // Products above 2^53 and the division are rounded; the comparison that admits has the last word.
  let room = limit.max - current - used
  if (weight >= (used + 1) * limit.windowMs) room -= 1
  else if (weight < used * limit.windowMs) room += 1
  return Math.max(room, 0)
}

/** Returns after how long the cost fits: in this window as the previous one fades, or else in the next. */
function waitMs(previous: number, current: number, leftMs: number, limit: LimitNumbers, cost: number): number {
  const free = limit.max - current - cost
  if (free >= 0) return leftMs - fadedTo(previous, free, limit.windowMs)
  return leftMs + limit.windowMs - fadedTo(current, limit.max - cost, limit.windowMs)
}

/** Returns the longest rest of a window, in ms, at which `count` hits of the window before weigh below `free` + 1. */
function fadedTo(count: number, free: number, windowMs: number): number {
  if (count <= free + 1) return windowMs
  const room = (free + 1) * windowMs
  let leftMs = Math.ceil(room / count)
  if (count * (leftMs - 1) >= room) leftMs -= 1
  else if (count * leftMs < room) leftMs += 1
  return Math.min(leftMs, windowMs)
}

/** With sub-windows it keeps a log, and is a sliding log of coarser times. */
export const SLIDING_WINDOW: AlgorithmRecord = {
  letter: 's',
  anchoredLetter: undefined,
  logLetter: 'x',
  stateNumbers: 3,
  isLeasable: true,
  holdsPermits: false,
  handsOutTurns: false,
  maxUnitsPerMs: undefined,
  evaluateNumbers: slidingWindow,
  evaluateLog: slidingLog,
}
