import { type AlgorithmRecord, noLog } from './algorithm.ts'
import { askedBy, type LimitNumbers } from './limit-numbers.ts'
import { NEVER, type Outcome } from './outcome.ts'

/**
 * Takes a hit's units from a bucket that refills lazily at the limit's pace and holds `burst` hits. State: the time of
 * the last refill and the hits in use. With countDenied, and by late charges, it goes into debt, at most one full
 * bucket of it.
 *
 * Units are whole numbers (see core/pace.ts) and belong to one pace; the state must outlive a change of the limit, so
 * it is kept in hits. A number of units below 2^51, divided by the units of a hit and multiplied again, is off by less
 * than half a unit, so that rounding gives it back exactly.
 *
 * A clock that went back refills nothing and counts on from now.
 */
export function tokenBucket(
  at: number,
  used: number,
  limit: LimitNumbers,
  nowMs: number,
  cost: number,
  out: Outcome,
): void {
  const full = limit.fullUnits
  let units = full
  if (at !== NEVER) {
    units = Math.max(full - Math.round(used * limit.unitsPerHit), -full)
    if (nowMs > at) units = Math.min(units + (nowMs - at) * limit.unitsPerMs, full)
  }
  const price = cost * limit.unitsPerHit
  const asked = askedBy(cost)
  out.delayMs = 0
  out.dropped = 0
  out.impossible = asked > limit.capacity
  out.allowed = !out.impossible && (asked * limit.unitsPerHit <= units || price < 0)
  if (out.allowed) {
    out.retryAfterMs = 0
    units = Math.min(units - price, full)
  } else {
    if (limit.countDenied) {
      const owed = units - price
      units = Math.max(owed, -full)
      out.dropped = Math.ceil((units - owed) / limit.unitsPerHit)
    }
    out.retryAfterMs = out.impossible ? 0 : Math.ceil((asked * limit.unitsPerHit - units) / limit.unitsPerMs)
  }
  out.remaining = units > 0 ? Math.floor(units / limit.unitsPerHit) : 0
  out.resetAfterMs = units < full ? Math.ceil((full - units) / limit.unitsPerMs) : 0
  out.expiresAtMs = nowMs + out.resetAfterMs
  if (out.impossible && units === full) out.resetAfterMs = limit.windowMs
  out.at = nowMs
  out.first = (full - units) / limit.unitsPerHit
  out.second = 0
}

export const TOKEN_BUCKET: AlgorithmRecord = {
  letter: 't',
  anchoredLetter: undefined,
  logLetter: undefined,
  stateNumbers: 2,
  isLeasable: true,
  holdsPermits: false,
  handsOutTurns: false,
  maxUnitsPerMs: () => Number.MAX_SAFE_INTEGER,
  evaluateNumbers: (at, first, _, limit, nowMs, cost, out) => tokenBucket(at, first, limit, nowMs, cost, out),
  evaluateLog: noLog,
}
