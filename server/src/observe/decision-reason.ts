import type { Decision, RuleVerdict } from 'sluice/internal/core/combine'

/** The reasons of decisions in a decision log, and no others. docs/observability.md describes each. */
export const DECISION_REASONS = [
  'within_limit',
  'over_limit',
  'cost_above_limit',
  'shadow_over_limit',
  'store_unavailable_open',
  'store_unavailable_closed',
  'store_unavailable_local',
  'ledger_short',
  'ledger_customer_unknown',
  'ledger_unavailable',
  'no_limit',
  'no_rule',
  'unknown_domain',
] as const

export type DecisionReason = (typeof DECISION_REASONS)[number]

const LEDGER_REASONS = {
  LEDGER_SHORT: 'ledger_short',
  LEDGER_CUSTOMER_UNKNOWN: 'ledger_customer_unknown',
  LEDGER_UNAVAILABLE: 'ledger_unavailable',
} as const satisfies Record<string, DecisionReason>

/** Returns whether a rule that only reports would have refused. */
function isShadowRefusal({ rule, verdict }: RuleVerdict): boolean {
  return rule.shadow && !verdict.allowed && verdict.unasked !== true
}

/** Returns whether a rule refused, or would have. Allocates nothing: it runs for every decision. */
export function hasRefusal({ allowed, verdicts }: Decision): boolean {
  if (!allowed) return true
  for (let i = 0; i < verdicts.length; i++) if (isShadowRefusal(verdicts[i])) return true
  return false
}

/**
 * Returns the verdict that represents a decision: that of a rule that would have refused, where all that enforce admit;
 * otherwise that of the tightest rule.
 */
export function decisiveOf({ allowed, tightest, verdicts }: Decision): RuleVerdict | undefined {
  const reported = allowed ? verdicts.find(isShadowRefusal) : undefined
  return reported ?? tightest ?? verdicts[0]
}

/** Returns why a rule decided as it did. `isShadow`: it lets requests pass that it refuses. */
export function reasonOf({ rule, verdict }: RuleVerdict, isShadow: boolean): DecisionReason {
  if (verdict.ledger !== undefined) return LEDGER_REASONS[verdict.ledger.code]
  if (rule.unlimited) return 'no_limit'
  if (verdict.fallback === 'open') return 'store_unavailable_open'
  if (verdict.fallback === 'closed') return 'store_unavailable_closed'
  if (verdict.allowed) return verdict.fallback === 'local' ? 'store_unavailable_local' : 'within_limit'
  if (rule.shadow || isShadow) return 'shadow_over_limit'
  // A limit of 0 refuses whatever a request costs.
  return verdict.kind === 'impossible' && verdict.limit > 0 ? 'cost_above_limit' : 'over_limit'
}
