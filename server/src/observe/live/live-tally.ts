import type { Decision } from 'sluice/internal/core/combine'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { DoorObserver, ObservedDoor } from '../door-observer.ts'
import { LATENCY_BUCKETS, latencyBucket } from './latencies.ts'
import { type LiveReport, type LiveRuleCounts, MAX_LIVE_RULES } from './live-report.ts'
import { RecentActivity } from './rule-activity.ts'

/** Rules that are counted separately between two reports. Overrides are rules of one caller each. */
const MAX_RULES = 10_000

interface RuleTally {
  readonly domain: string
  allowed: number
  refused: number
  shadowRefused: number
}

/**
 * Counts what was decided since it was last asked: a second of one process. What rules did is remembered for an hour.
 */
export class LiveTally implements DoorObserver {
  readonly activity = new RecentActivity()
  readonly #nowMs: () => number
  readonly #rules = new Map<Rule, RuleTally>()
  readonly #latencies = new Uint32Array(LATENCY_BUCKETS)
  #allowed = 0
  #refused = 0
  #shadowRefused = 0
  #lastRule: Rule | undefined
  #last: RuleTally | undefined

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** Counts requests. What gives back, looks, or is charged later is none. */
  decided(_door: ObservedDoor, charges: readonly PlannedCharge[], decision: Decision, ms: number): void {
    let isRequest = charges.length === 0
    let isShadow = false
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]
      if (charge.debit === true || (charge.cost <= 0 && charge.isFree !== true)) continue
      isRequest = true
      const { verdict } = decision.verdicts[i]
      if (verdict.unasked === true) continue
      const tally = this.#of(charge)
      if (verdict.allowed) {
        if (tally !== undefined) tally.allowed++
      } else if (charge.enforce) {
        if (tally !== undefined) tally.refused++
      } else {
        isShadow = true
        if (tally !== undefined) tally.shadowRefused++
      }
    }
    if (!isRequest) return
    if (decision.allowed) this.#allowed++
    else this.#refused++
    if (isShadow) this.#shadowRefused++
    this.#latencies[latencyBucket(ms)]++
  }

  /** Returns the counts, and restarts them. */
  take(): LiveReport {
    const report = {
      allowed: this.#allowed,
      refused: this.#refused,
      shadowRefused: this.#shadowRefused,
      latencies: [...this.#latencies],
      rules: this.#ruleCounts(),
    }
    this.#allowed = 0
    this.#refused = 0
    this.#shadowRefused = 0
    this.#latencies.fill(0)
    this.#rules.clear()
    this.#lastRule = undefined
    this.#last = undefined
    return report
  }

  #of({ rule, domain }: PlannedCharge): RuleTally | undefined {
    // Requests to one rule often come in a row.
    if (rule === this.#lastRule) return this.#last
    let tally = this.#rules.get(rule)
    if (tally === undefined) {
      if (this.#rules.size >= MAX_RULES) return undefined
      tally = { domain, allowed: 0, refused: 0, shadowRefused: 0 }
      this.#rules.set(rule, tally)
    }
    this.#lastRule = rule
    this.#last = tally
    return tally
  }

  /** Records what rules did, and returns the busiest. */
  #ruleCounts(): readonly LiveRuleCounts[] {
    const byName = new Map<string, LiveRuleCounts>()
    for (const [{ id }, { domain, allowed, refused, shadowRefused }] of this.#rules) {
      const name = `${domain} ${id}`
      const known = byName.get(name)
      byName.set(name, {
        domain,
        id,
        allowed: (known?.allowed ?? 0) + allowed,
        refused: (known?.refused ?? 0) + refused,
        shadowRefused: (known?.shadowRefused ?? 0) + shadowRefused,
      })
    }
    const nowMs = this.#nowMs()
    for (const rule of byName.values()) this.activity.add(rule, nowMs)
    return [...byName.values()].sort(byRequests).slice(0, MAX_LIVE_RULES)
  }
}

/** Orders rules: the busiest first. */
export function byRequests(a: LiveRuleCounts, b: LiveRuleCounts): number {
  return b.allowed + b.refused + b.shadowRefused - (a.allowed + a.refused + a.shadowRefused)
}
