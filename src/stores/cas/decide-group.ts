import { Outcome } from '../../core/algorithms/outcome.ts'
import { debitedOf, lentVerdict, unchargedOf, type Verdict, verdictOf } from '../../core/decision.ts'
import { debitLimit, holdsPermits, type Limit } from '../../core/limit.ts'
import { type Charge, isRefused, mayBeLent } from '../../engine/ports.ts'
import type { Counter } from './counter.ts'

/** A charge that was made, for the case that it has to be given back. */
export interface MadeCharge {
  readonly charge: Charge
  /** What was charged, without what was dropped. */
  readonly hits: number
}

export interface DecidedGroup {
  readonly verdicts: readonly Verdict[]
  readonly made: readonly MadeCharge[]
}

const OUT = new Outcome()

/**
 * Decides about a group on counters in memory: it looks at every charge first, and makes those that fit only if the
 * group is not refused. `counters` are those of the charges, in order; one that is named twice is the same object.
 * `permit` is the id of the permits that are taken; without one, charges on `concurrency` limits only look.
 */
export function decideGroup(
  charges: readonly Charge[],
  counters: readonly Counter[],
  nowMs: number,
  permit: string | undefined,
): DecidedGroup {
  const verdicts: Verdict[] = []
  for (let i = 0; i < charges.length; i++) verdicts.push(lookAt(charges, counters, verdicts, i, nowMs))
  const isGroupRefused = isRefused(charges, verdicts)
  const made: MadeCharge[] = []
  for (let i = 0; i < charges.length; i++) {
    const charge = charges[i]
    const { limit, cost, debit } = charge
    const counter = counters[i]
    if (verdicts[i].lent) continue
    if (isGroupRefused && verdicts[i].allowed) {
      counter.look(limit, nowMs, lentOf(charge, counter, nowMs), OUT)
      verdicts[i] = unchargedOf(OUT, limit)
      continue
    }
    if (onlyLooks(charge, permit)) continue
    if (debit === true) {
      counter.charge(debitLimit(limit), nowMs, cost, '', OUT)
      verdicts[i] = debitedOf(OUT, limit)
    } else {
      // A refusal is kept too: the algorithm may charge it (countDenied).
      const asked = isGroupRefused ? costUpTo(charges, counters, verdicts, i) : cost
      counter.charge(limit, nowMs, asked, holdsPermits(limit) ? (permit as string) : '', OUT)
    }
    if (OUT.allowed || limit.countDenied || debit === true) made.push({ charge, hits: cost - OUT.dropped })
  }
  return { verdicts, made }
}

/** A cost of 0 looks, and only an acquire takes permits. */
function onlyLooks({ limit, cost }: Charge, permit: string | undefined): boolean {
  return holdsPermits(limit) ? cost <= 0 || permit === undefined : cost === 0
}

function lookAt(
  charges: readonly Charge[],
  counters: readonly Counter[],
  verdicts: readonly Verdict[],
  i: number,
  nowMs: number,
): Verdict {
  const charge = charges[i]
  const { limit, debit } = charge
  const counter = counters[i]
  const lent = lentOf(charge, counter, nowMs)
  const cost = costUpTo(charges, counters, verdicts, i)
  counter.look(limit, nowMs, cost, OUT)
  if (debit === true) return debitedOf(OUT, limit)
  const alone = verdictOf(OUT, limit)
  return lent > 0 ? withLent(counter, limit, nowMs, cost, lent, alone) : alone
}

/** Returns what is out of a charge's counter: it counts as spent. What ran out is charged to the counter. */
function lentOf(charge: Charge, counter: Counter, nowMs: number): number {
  if (counter.book === undefined || !mayBeLent(charge)) return 0
  return counter.book.outAt(nowMs, counter.booked(charge.limit))
}

/** Returns the verdict on a cost as if what is lent were spent. */
function withLent(counter: Counter, limit: Limit, nowMs: number, cost: number, lent: number, alone: Verdict): Verdict {
  if (!alone.allowed) return { ...alone, remaining: Math.max(0, alone.remaining - lent) }
  if (cost + lent > limit.capacity) return lentVerdict(limit.max, alone.resetAfterMs, 1)
  counter.look(limit, nowMs, cost + lent, OUT)
  const isSpent = cost === 0 && OUT.remaining === 0
  if (OUT.allowed && !isSpent) return verdictOf(OUT, limit)
  return lentVerdict(limit.max, OUT.resetAfterMs, Math.max(OUT.retryAfterMs, 1))
}

/**
 * Adds up what the group asks of charge i's counter: a counter named twice is charged twice. Earlier charges that do
 * not fit take nothing, and do not count.
 */
function costUpTo(
  charges: readonly Charge[],
  counters: readonly Counter[],
  verdicts: readonly Verdict[],
  i: number,
): number {
  let { cost } = charges[i]
  for (let j = 0; j < i; j++) {
    if (counters[j] === counters[i] && charges[j].debit !== true && verdicts[j].allowed) cost += charges[j].cost
  }
  return cost
}
