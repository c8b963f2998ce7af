import type { Verdict } from '../core/decision.ts'
import { storedKey } from '../core/keys.ts'
import { holdsPermits } from '../core/limit.ts'
import { type Charge, isRefused } from '../engine/ports.ts'

// A group of charges whose counters are in several places is decided in parts. All are charged or none: what a part was
// charged is given back when another refuses.

/** Divides a list by a property of its members: the positions of each part, in order. */
export function positionsBy<T>(all: readonly T[], partOf: (one: T) => string | number): readonly (readonly number[])[] {
  if (all.length === 1) return ONE_PART
  const parts = new Map<string | number, number[]>()
  all.forEach((one, i) => {
    const part = partOf(one)
    const known = parts.get(part)
    if (known === undefined) parts.set(part, [i])
    else known.push(i)
  })
  return [...parts.values()]
}

const ONE_PART: readonly (readonly number[])[] = [[0]]

/** Returns the charges of each part. Rules in quota mode decide only together, so they bind no part. */
export function unbound(
  charges: readonly Charge[],
  parts: readonly (readonly number[])[],
): readonly (readonly Charge[])[] {
  return parts.map((part) => part.map((i) => (charges[i].quota ? { ...charges[i], enforce: false } : charges[i])))
}

/** Puts the verdicts of parts back in the order of the charges. */
export function inOrder(
  parts: readonly (readonly number[])[],
  verdicts: readonly (readonly Verdict[])[],
): readonly Verdict[] {
  const all: Verdict[] = []
  parts.forEach((part, p) => {
    part.forEach((i, at) => {
      all[i] = verdicts[p][at]
    })
  })
  return all
}

/** Returns the charges that give back what a part was charged, except for permits, which are released. */
export function refundsOf(group: readonly Charge[], verdicts: readonly Verdict[]): readonly Charge[] {
  return group
    .filter(({ limit, cost, debit }, i) => cost > 0 && debit !== true && verdicts[i].allowed && !holdsPermits(limit))
    .map((charge) => ({ ...charge, cost: -charge.cost }))
}

/** Returns the budgets of a part as they are once what it was charged is given back. */
export function uncharged(group: readonly Charge[], verdicts: readonly Verdict[]): readonly Verdict[] {
  if (isRefused(group, verdicts)) return verdicts
  // A counter that the group names twice was charged the sum.
  const taken = new Map<string, number>()
  return verdicts.map((verdict, i) => {
    const { key, limit, cost } = group[i]
    if (!verdict.allowed || cost <= 0) return verdict
    const stored = storedKey(key, limit)
    const sum = (taken.get(stored) ?? 0) + cost
    taken.set(stored, sum)
    return { ...verdict, remaining: Math.min(verdict.remaining + sum, limit.capacity), delayMs: 0 }
  })
}
