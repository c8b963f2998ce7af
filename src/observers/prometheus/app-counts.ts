import type { Decision } from '../../core/combine.ts'
import type { Rule } from '../../core/rule.ts'
import type { PlannedCharge } from '../../engine/charge.ts'
import type { Observer } from '../../engine/observer.ts'
import type { FaultReason } from '../../engine/store-fault.ts'
import { OUTCOMES, outcomeOf } from '../../engine/verdict-outcome.ts'

/** The counts of one rule: one per outcome, and one for hits that it admitted without counting. */
export interface RuleCounts {
  readonly domain: string
  readonly rule: string
  readonly outcomes: Float64Array
  failOpen: number
}

type Mode = 'open' | 'closed' | 'local'

const OTHER = 'other'
/** Clusters have a server for each master. What is beyond that many is `other`. */
const MAX_SHARDS = 256

/** Counts the decisions of an app, as numbers only: text is formatted when metrics are read. */
export class AppCounts implements Observer {
  readonly bounds: Float64Array
  /** How long decisions took: one count for each bound, and one for all beyond. */
  readonly times: Float64Array
  timeSum = 0
  allowed = 0
  denied = 0
  withoutRule = 0
  readonly #most: number
  readonly #byName = new Map<string, RuleCounts>()
  readonly #byRule = new WeakMap<Rule, RuleCounts>()
  readonly #deadlines = new Map<string, number>()
  readonly #fallbacks = new Map<string, [labels: { mode: Mode; reason: FaultReason }, count: number]>()

  constructor(bounds: readonly number[], maxRules: number) {
    this.bounds = Float64Array.from(bounds)
    this.times = new Float64Array(bounds.length + 1)
    this.#most = maxRules
  }

  decided(charges: readonly PlannedCharge[], decision: Decision, ms: number): void {
    this.#took(ms / 1000)
    if (charges.length === 0) {
      this.withoutRule++
      return
    }
    let isRequest = false
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      const { verdict } = decision.verdicts[i]
      // What gives back, looks, or is charged later, is no request.
      if (charge.debit === true || (charge.cost <= 0 && charge.isFree !== true)) continue
      isRequest = true
      if (verdict.unasked === true) continue
      const counts = this.#countsOf(charge)
      counts.outcomes[outcomeOf(charge, verdict)]++
      if (verdict.fallback === 'open') counts.failOpen++
    }
    if (!isRequest) return
    if (decision.allowed) this.allowed++
    else this.denied++
  }

  deadlineChanged(shard: string, timeoutMs: number): void {
    const isKnown = this.#deadlines.has(shard) || this.#deadlines.size < MAX_SHARDS
    this.#deadlines.set(isKnown ? shard : OTHER, timeoutMs)
  }

  fellBack(mode: Mode, reason: FaultReason): void {
    const name = `${mode} ${reason}`
    const count = this.#fallbacks.get(name) ?? [{ mode, reason }, 0]
    count[1]++
    this.#fallbacks.set(name, count)
  }

  /** Returns how long decisions wait for each server, in milliseconds. */
  deadlines(): Iterable<[shard: string, timeoutMs: number]> {
    return this.#deadlines
  }

  /** Returns how many decisions were made without Redis, by what the rule did and why. */
  fallbacks(): Iterable<[labels: { mode: Mode; reason: FaultReason }, count: number]> {
    return this.#fallbacks.values()
  }

  rules(): Iterable<RuleCounts> {
    return this.#byName.values()
  }

  #took(seconds: number): void {
    let bucket = 0
    while (bucket < this.bounds.length && seconds > this.bounds[bucket]) bucket++
    this.times[bucket]++
    this.timeSum += seconds
  }

  #countsOf({ rule, domain }: PlannedCharge): RuleCounts {
    const known = this.#byRule.get(rule)
    if (known !== undefined) return known
    const counts = this.#countsBy(domain, rule.id)
    this.#byRule.set(rule, counts)
    return counts
  }

  #countsBy(domain: string, rule: string): RuleCounts {
    const name = `${domain.length} ${domain} ${rule}`
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    if (this.#byName.size >= this.#most && rule !== OTHER) return this.#countsBy(OTHER, OTHER)
    const counts = { domain, rule, outcomes: new Float64Array(OUTCOMES.length), failOpen: 0 }
    this.#byName.set(name, counts)
    return counts
  }
}
