import type { Verdict } from 'sluice/internal/core/decision'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import { OVERRIDE_ID } from 'sluice/internal/engine/plan'

/** RuleCounts counts hits on one rule, in the words of envoyproxy/ratelimit. */
export interface RuleCounts {
  total_hits: number
  total_negative_hits: number
  within_limit: number
  /** Of those within the limit: with less than a fifth of it left. */
  near_limit: number
  over_limit: number
  /** Of those over the limit: passed all the same, because the rule only reports. */
  shadow_mode: number
}

const MOST_RULES = 10_000
const NEAR_LIMIT = 0.2

/** count adds the hits of one verdict. */
export function count(counts: RuleCounts, rule: Rule, verdict: Verdict, hits: number): void {
  if (hits <= 0) {
    counts.total_negative_hits -= hits
    return
  }
  counts.total_hits += hits
  if (verdict.allowed) {
    counts.within_limit += hits
    if (verdict.remaining < verdict.limit * NEAR_LIMIT) counts.near_limit += hits
  } else {
    counts.over_limit += hits
    if (rule.shadow) counts.shadow_mode += hits
  }
}

/** RlsStats counts what the rate limit service does, for people who look at /stats. */
export class RlsStats {
  /** Calls that were not answered, because they made no sense. */
  serviceErrors = 0
  /** Calls that were not answered, because something went wrong here. */
  internalErrors = 0
  requests = 0
  overLimit = 0
  /** Requests that SHADOW_MODE let pass. */
  shadowed = 0
  readonly #rules = new Map<string, RuleCounts>()

  /** countsOf returns the counts of a rule. They outlive it: a rule that is loaded again goes on counting. */
  countsOf(domain: string, { id }: Rule): RuleCounts {
    const name = id === OVERRIDE_ID ? 'override' : `${domain}.${id.replaceAll('=', '_')}`
    const known = this.#rules.get(name)
    if (known !== undefined) return known
    const counts = {
      total_hits: 0,
      total_negative_hits: 0,
      within_limit: 0,
      near_limit: 0,
      over_limit: 0,
      shadow_mode: 0,
    }
    // Beyond that many, rules are counted but not listed.
    if (this.#rules.size < MOST_RULES) this.#rules.set(name, counts)
    return counts
  }

  /** list returns every name with its count. */
  *list(): Iterable<readonly [name: string, value: number]> {
    yield ['ratelimit.service.call.should_rate_limit.service_error', this.serviceErrors]
    yield ['ratelimit.service.call.should_rate_limit.internal_error', this.internalErrors]
    yield ['ratelimit.service.global_shadow_mode', this.shadowed]
    yield ['ratelimit_server.ShouldRateLimit.total_requests', this.requests]
    yield ['ratelimit_server.ShouldRateLimit.over_limit', this.overLimit]
    for (const [name, counts] of this.#rules) {
      for (const [stat, value] of Object.entries(counts)) yield [`ratelimit.service.rate_limit.${name}.${stat}`, value]
    }
  }
}
