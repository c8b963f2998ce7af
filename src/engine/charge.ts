import type { Entry } from '../core/request.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import type { Charge } from './ports.ts'

/** A PlannedCharge is a charge with the rule that it comes from, and what it is about. */
export interface PlannedCharge extends Charge {
  readonly rule: Rule
  readonly domain: string
  /** What tells this caller's counter from others, as the request said it: secrets in clear. Spell them before showing. */
  readonly entries: readonly Entry[]
  /** The position of the descriptor, or of the limit, that it comes from. */
  readonly descriptor: number
}

/** chargeOf makes the charge of a rule: what the rule says of the store goes with it. */
export function chargeOf(
  rule: Rule,
  key: string,
  cost: number,
  about: Pick<PlannedCharge, 'domain' | 'entries' | 'descriptor'>,
): PlannedCharge {
  const { domain, entries, descriptor } = about
  const { limit, shadow, quota } = rule
  return { key, limit, cost, enforce: !shadow, quota, policy: rule, rule, domain, entries, descriptor }
}
