/**
 * A rate as a fraction of two whole numbers: hits per millisecond = unitsPerMs / unitsPerHit. Counting in units keeps
 * buckets exact: 7 per minute is 7 units a millisecond and 60,000 a hit, with no rounding anywhere.
 */
export interface Pace {
  readonly unitsPerMs: number
  readonly unitsPerHit: number
}

/**
 * Returns limit / windowMs in lowest terms. When that needs more than maxUnitsPerMs, it returns the closest slower
 * fraction that does not: never more than asked for, at most 0.1 % less, and exact for every limit whose lowest terms
 * fit (all round numbers do). It is undefined when the rate itself is above maxUnitsPerMs hits a millisecond.
 */
export function paceOf(limit: number, windowMs: number, maxUnitsPerMs: number): Pace | undefined {
  const divisor = greatestCommonDivisor(limit, windowMs)
  const exact = { unitsPerMs: limit / divisor, unitsPerHit: windowMs / divisor }
  if (exact.unitsPerMs <= maxUnitsPerMs) return exact
  return limit / windowMs > maxUnitsPerMs ? undefined : closestBelow(exact, maxUnitsPerMs)
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

/**
 * Walks the Stern-Brocot tree to the largest fraction that is at most `rate` and has a numerator of at most `most`.
 * Each round descends a whole run of equal turns, so that it takes tens of rounds, not millions.
 */
function closestBelow(rate: Pace, most: number): Pace {
  const [p, q] = [BigInt(rate.unitsPerMs), BigInt(rate.unitsPerHit)]
  let [lowP, lowQ, highP, highQ] = [0n, 1n, 1n, 0n]
  for (;;) {
    // Down the right side: low + k × high stays at or below the rate for k up to…
    const upBy = min((p * lowQ - lowP * q) / (highP * q - p * highQ), (BigInt(most) - lowP) / highP)
    lowP += upBy * highP
    lowQ += upBy * highQ
    if (lowP + highP > BigInt(most)) break
    // Down the left side: high + k × low stays above the rate.
    const room = highP * q - p * highQ
    const slack = p * lowQ - lowP * q
    if (slack === 0n) break
    const downBy = min((room - 1n) / slack, lowP === 0n ? room : (BigInt(most) - highP) / lowP)
    if (downBy === 0n) break
    highP += downBy * lowP
    highQ += downBy * lowQ
  }
  return { unitsPerMs: Number(lowP), unitsPerHit: Number(lowQ) }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
