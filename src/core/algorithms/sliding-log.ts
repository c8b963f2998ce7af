import { type AlgorithmRecord, noNumbers } from './algorithm.ts'
import type { HitLog } from './hit-log.ts'
import { askedBy, chargedOf, type LimitNumbers } from './limit-numbers.ts'
import type { Outcome } from './outcome.ts'

/**
 * Admits when the hits recorded in the last `windowMs`, plus the cost, are at most the limit: exact, at the price of a
 * record for each distinct time. A hit at t counts until t + windowMs, that moment excluded.
 *
 * With a quantum above 1 ms (sub-windows) a hit is recorded at the end of its quantum, so that it counts a little too
 * long, never too short: no window ever holds more than the limit. A clock that went back moves later records to now.
 */
export function slidingLog(log: HitLog, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome): void {
  const latestMs = limit.quantumMs === 1 ? nowMs : nowMs - (nowMs % limit.quantumMs) + limit.quantumMs - 1
  let hits = dropWhile(log, nowMs - limit.windowMs, 0, out)
  out.push = 0
  out.pop = 0
  out.latestMs = latestMs
  out.delayMs = 0
  out.retryAfterMs = 0
  out.dropped = 0
  const asked = askedBy(cost)
  out.impossible = asked > limit.max
  out.allowed = !out.impossible && (hits + asked <= limit.max || cost < 0)
  if (out.allowed) {
    if (cost > 0) out.push = cost
    else if (cost < 0) out.pop = Math.min(-cost, hits)
    hits += out.push - out.pop
  } else {
    if (limit.countDenied && cost > 0) {
      out.push = chargedOf(cost, hits, limit)
      out.dropped = cost - out.push
      // Of records that refuse, only the newest `limit` hits matter: they are the last to leave.
      hits = dropWhile(log, Number.POSITIVE_INFINITY, limit.max - out.push, out) + out.push
    }
    if (!out.impossible) out.retryAfterMs = leavesAt(log, hits + asked - limit.max, out) + limit.windowMs - nowMs
  }
  out.remaining = hits < limit.max ? limit.max - hits : 0
  out.resetAfterMs = hits > 0 ? lastLeaves(log, hits, out) + limit.windowMs - nowMs : 0
  out.expiresAtMs = nowMs + out.resetAfterMs
  if (out.impossible && hits === 0) out.resetAfterMs = limit.windowMs
}

/**
 * Marks the oldest records to be dropped: those at or before untilMs, as long as `atLeast` hits stay. It returns how
 * many hits stay.
 */
function dropWhile(log: HitLog, untilMs: number, atLeast: number, out: Outcome): number {
  let hits = log.totalHits
  out.dropOldest = 0
  log.rewind()
  while (log.next() && log.timeMs <= untilMs && hits - log.hits >= atLeast) {
    out.dropOldest++
    hits -= log.hits
  }
  return hits
}

/** Returns the time of the newest record that stays. */
function lastLeaves(log: HitLog, hits: number, out: Outcome): number {
  if (out.push > 0) return out.latestMs
  return out.pop > 0 ? leavesAt(log, hits, out) : Math.min(log.newestMs, out.latestMs)
}

/** Returns the time of the record with which the oldest `hits` hits that stay are gone. */
function leavesAt(log: HitLog, hits: number, out: Outcome): number {
  let position = 0
  log.rewind()
  while (log.next()) {
    if (position++ < out.dropOldest) continue
    hits -= log.hits
    if (hits <= 0) return Math.min(log.timeMs, out.latestMs)
  }
  return out.latestMs
}

export const SLIDING_LOG: AlgorithmRecord = {
  letter: 'x',
  anchoredLetter: undefined,
  logLetter: 'x',
  stateNumbers: 0,
  isLeasable: true,
  holdsPermits: false,
  handsOutTurns: false,
  maxUnitsPerMs: undefined,
  evaluateNumbers: noNumbers,
  evaluateLog: slidingLog,
}
