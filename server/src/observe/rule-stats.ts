import type { Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { OVERRIDE_ID } from 'sluice/internal/engine/plan'
import type { DoorObserver, ObservedDoor } from './door-observer.ts'
import { namesValues, referenceStatName } from './reference-stat-names.ts'

/** Counts hits on one rule, in the words of envoyproxy/ratelimit. */
interface RuleCounts {
  total_hits: number
  total_negative_hits: number
  within_limit: number
  /** Of those within the limit: with less than a fifth of it left. */
  near_limit: number
  over_limit: number
  /** Of those over the limit: passed all the same, because the rule only reports. */
  shadow_mode: number
}

const MAX_RULES = 10_000
const NEAR_LIMIT = 0.2

/** Says under which names rules are counted: ours, or exactly envoyproxy/ratelimit's. */
export interface RuleStatsOptions {
  readonly asReference?: boolean
}

/** Counts what each rule decides, whichever door asked, for people who look at /stats. */
export class RuleStats implements DoorObserver {
  /** By name. Counts outlive a rule: one that is loaded again continues from its last count. */
  readonly #byName = new Map<string, RuleCounts>()
  readonly #byRule = new WeakMap<Rule, RuleCounts>()
  readonly #isReference: boolean

  constructor({ asReference = false }: RuleStatsOptions = {}) {
    this.#isReference = asReference
  }

  decided(_: ObservedDoor, charges: readonly PlannedCharge[], { verdicts }: Decision): void {
    for (let i = 0; i < charges.length; i++) {
      const { verdict } = verdicts[i]
      if (verdict.unasked === true) continue
      if (!this.#isReference) count(this.#countsOf(charges[i]), charges[i], verdict)
      else if (!charges[i].rule.unlimited) {
        countAsReference(this.#referenceCountsOf(charges[i]), charges[i], verdict)
      }
    }
  }

  /** Returns every name with its count. */
  *list(): Iterable<readonly [name: string, value: number]> {
    for (const [name, counts] of this.#byName) {
      for (const [stat, value] of Object.entries(counts)) yield [`ratelimit.service.rate_limit.${name}.${stat}`, value]
    }
  }

  #countsOf({ rule, domain }: PlannedCharge): RuleCounts {
    const known = this.#byRule.get(rule)
    if (known !== undefined) return known
    const name = rule.id === OVERRIDE_ID ? 'override' : `${domain}.${rule.id.replaceAll('=', '_')}`
    const counts = this.#countsBy(name)
    this.#byRule.set(rule, counts)
    return counts
  }

  /** Finds the counts of a charge by its rule, unless their name depends on the request. */
  #referenceCountsOf(charge: PlannedCharge): RuleCounts {
    const { rule } = charge
    const known = this.#byRule.get(rule)
    if (known !== undefined) return known
    const counts = this.#countsBy(referenceStatName(charge))
    if (!namesValues(rule)) this.#byRule.set(rule, counts)
    return counts
  }

  #countsBy(name: string): RuleCounts {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const counts = newCounts()
    // Beyond that many, rules are counted but not listed.
    if (this.#byName.size < MAX_RULES) this.#byName.set(name, counts)
    return counts
  }
}

function newCounts(): RuleCounts {
  return { total_hits: 0, total_negative_hits: 0, within_limit: 0, near_limit: 0, over_limit: 0, shadow_mode: 0 }
}

function count(counts: RuleCounts, { rule, cost }: PlannedCharge, verdict: Verdict): void {
  if (cost <= 0) {
    counts.total_negative_hits -= cost
    return
  }
  counts.total_hits += cost
  if (verdict.allowed) {
    counts.within_limit += cost
    if (verdict.remaining < verdict.limit * NEAR_LIMIT) counts.near_limit += cost
  } else {
    counts.over_limit += cost
    if (rule.shadow) counts.shadow_mode += cost
  }
}

/**
 * From which share of a limit on hits are near it, as a 32-bit number: that is what envoyproxy/ratelimit computes with.
 */
const NEAR_LIMIT_RATIO = Math.fround(0.8)

/**
 * Counts hit by hit: of several in one request, those beyond the limit are over it, and those from four fifths of it on
 * are near it. How far beyond the limit a refused request was is unknown: all its hits count as over the limit.
 */
function countAsReference(counts: RuleCounts, { rule, cost }: PlannedCharge, verdict: Verdict): void {
  if (cost <= 0) {
    counts.total_negative_hits -= cost
    return
  }
  counts.total_hits += cost
  if (!verdict.allowed) {
    counts.over_limit += cost
    if (rule.shadow) counts.shadow_mode += cost
    return
  }
  counts.within_limit += cost
  const after = verdict.limit - verdict.remaining
  const near = Math.floor(Math.fround(Math.fround(verdict.limit) * NEAR_LIMIT_RATIO))
  if (after > near) counts.near_limit += Math.min(cost, after - near)
}
