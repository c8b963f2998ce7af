import type { Decision } from 'sluice/internal/core/combine'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'

/** What became of the requests that a rule was asked about. */
export interface RuleCounts {
  readonly domain: string
  readonly rule: Rule
  asked: number
  /** Requests that it refused. With several rules, one request may be refused by more than one. */
  refused: number
  /** Requests that it would have refused, in shadow mode. */
  shadow: number
  /** Requests that it decides to refuse, and that the other rules allow. */
  lost: number
  /** Requests that it refused, of the other rules, and that are allowed now. */
  gained: number
  firstMs: number
  lastMs: number
}

/** Counts by rule: there are no more than the rules have. */
export class RuleTable {
  readonly #byRule = new Map<Rule, RuleCounts>()

  /** Counts a decision, and returns the counts of the rule that decided it. */
  add(charges: readonly PlannedCharge[], { verdicts, tightest, allowed }: Decision, timeMs: number): void {
    for (let i = 0; i < verdicts.length; i++) {
      const { rule, verdict } = verdicts[i]
      const counts = this.of(rule, charges[i].domain)
      counts.asked++
      if (verdict.allowed) continue
      if (rule.shadow) counts.shadow++
      else if (!allowed || verdicts[i] === tightest) counts.refused++
      if (timeMs < counts.firstMs) counts.firstMs = timeMs
      if (timeMs > counts.lastMs) counts.lastMs = timeMs
    }
  }

  of(rule: Rule, domain: string): RuleCounts {
    const known = this.#byRule.get(rule)
    if (known !== undefined) return known
    const made = { domain, rule, asked: 0, refused: 0, shadow: 0, lost: 0, gained: 0, ...NO_TIMES }
    this.#byRule.set(rule, made)
    return made
  }

  /** Returns the rules that were asked, those that refused most first. */
  get list(): readonly RuleCounts[] {
    return [...this.#byRule.values()].sort(byRefused)
  }
}

const NO_TIMES = { firstMs: Number.POSITIVE_INFINITY, lastMs: Number.NEGATIVE_INFINITY }

function byRefused(a: RuleCounts, b: RuleCounts): number {
  const differs = b.lost + b.gained - (a.lost + a.gained)
  if (differs !== 0) return differs
  const refused = b.refused + b.shadow - (a.refused + a.shadow)
  return refused || b.asked - a.asked || (a.rule.id < b.rule.id ? -1 : a.rule.id > b.rule.id ? 1 : 0)
}
