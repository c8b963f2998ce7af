import { type AlgorithmRecord, noLog } from './algorithm.ts'
import { askedBy, type LimitNumbers } from './limit-numbers.ts'
import { NEVER, type Outcome } from './outcome.ts'

/**
 * Polices exactly like a token bucket, but on one number: the theoretical arrival time (TAT), the moment at which the
 * bucket would be full again. Counts in whole units (see core/pace.ts); the state is the TAT in milliseconds, which
 * keeps its meaning when the limit changes. Times before the year 2100 stay below 2^51 units and so survive the
 * conversion: rounding restores the units exactly.
 *
 * One number cannot show that the clock went back, but a TAT further away than that of an empty bucket can only come
 * from that, and is cut to it: no budget is handed out, and no caller waits longer than for an empty bucket. While the
 * bucket is in debt (countDenied, late charges; at most one full bucket), the state is the negated TAT and may be that
 * far away.
 */
export function gcra(tatMs: number, limit: LimitNumbers, nowMs: number, cost: number, out: Outcome): void {
  const full = limit.fullUnits
  const now = nowMs * limit.unitsPerMs
  const tat = Math.round(timeOf(tatMs) * limit.unitsPerMs)
  const deepest = limit.countDenied || isOwing(tatMs) ? 2 * full : full
  let used = tat > now ? tat - now : 0
  if (used > deepest) used = deepest
  const price = cost * limit.unitsPerHit
  const askedPrice = askedBy(cost) * limit.unitsPerHit
  out.delayMs = 0
  out.dropped = 0
  out.impossible = askedBy(cost) > limit.capacity
  out.allowed = !out.impossible && (used + askedPrice <= full || price < 0)
  if (out.allowed) {
    out.retryAfterMs = 0
    used = Math.max(used + price, 0)
  } else {
    if (limit.countDenied) {
      const owed = used + price
      used = Math.min(owed, deepest)
      out.dropped = Math.ceil((owed - used) / limit.unitsPerHit)
    }
    out.retryAfterMs = out.impossible ? 0 : Math.ceil((used + askedPrice - full) / limit.unitsPerMs)
  }
  out.remaining = used < full ? Math.floor((full - used) / limit.unitsPerHit) : 0
  out.resetAfterMs = used > 0 ? Math.ceil(used / limit.unitsPerMs) : 0
  out.expiresAtMs = nowMs + out.resetAfterMs
  if (out.impossible && used === 0) out.resetAfterMs = limit.windowMs
  const nextMs = (now + used) / limit.unitsPerMs
  out.at = used > full ? -nextMs : nextMs
  out.first = 0
  out.second = 0
}

function isOwing(tatMs: number): boolean {
  return tatMs < 0 && tatMs !== NEVER
}

/** Returns the TAT of a state, which has a minus while the bucket is in debt. */
export function timeOf(tatMs: number): number {
  return isOwing(tatMs) ? -tatMs : tatMs
}

const YEAR_2100_MS = 4_102_444_800_000
const MAX_UNITS_PER_MS = 512

/**
 * Returns the finest pace of a bucket on one number (a time), such that times before the year 2100 plus two full
 * buckets stay below 2^51 units: 512, and less only for buckets that take over 4 years to fill. Below 2^51, a time in
 * units survives being divided and multiplied by the pace: each step is off by less than a quarter of a unit.
 */
export function maxUnitsPerMs(fillMs: number): number {
  return Math.max(1, Math.min(MAX_UNITS_PER_MS, Math.floor(2 ** 51 / (YEAR_2100_MS + 2 * fillMs))))
}

export const GCRA: AlgorithmRecord = {
  letter: 'g',
  anchoredLetter: undefined,
  logLetter: undefined,
  stateNumbers: 1,
  isLeasable: true,
  holdsPermits: false,
  handsOutTurns: false,
  maxUnitsPerMs: maxUnitsPerMs,
  evaluateNumbers: (at, _first, _second, limit, nowMs, cost, out) => gcra(at, limit, nowMs, cost, out),
  evaluateLog: noLog,
}
