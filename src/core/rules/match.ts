import type { Entry } from '../request.ts'
import type { AccountLookup, TierLookup } from './account.ts'
import { CallerWalk, type Trace } from './caller-walk.ts'
import type { Domain, Rule, RuleNode } from './rule-set.ts'
import { stepInto } from './step-into.ts'

export type { Account, AccountLookup, OwnLimit, TierLookup } from './account.ts'
export { tierOf } from './caller-walk.ts'
export { stepWithoutPattern } from './own-rules.ts'
export { stepInto } from './step-into.ts'

const NO_MATCH: readonly Rule[] = []

/**
 * Returns the rules that apply to a descriptor. It walks down one level for each entry and never turns back: the exact
 * value first, then the most specific address block, then the first wildcard in file order, then the bare key. A rule
 * applies where its depth is the number of entries; with `evaluate: path` the rules along the way apply too. The cost
 * grows with the number of entries, not with the number of rules. From the first entry on that leads to an account, or
 * to a tier, a CallerWalk goes on.
 */
export function match(
  domain: Domain,
  entries: readonly Entry[],
  tier?: string,
  lookup?: AccountLookup,
  tiers?: TierLookup,
  trace?: Trace,
): readonly Rule[] {
  let node: RuleNode | undefined = domain.root
  let onTheWay: Rule[] | undefined
  for (let i = 0; i < entries.length; i++) {
    if (domain.evaluatePath && node.rules.length > 0) onTheWay = [...(onTheWay ?? []), ...node.rules]
    node = stepInto(node, entries[i])
    if (node === undefined) return onTheWay ?? NO_MATCH
    const account = lookup?.(domain.name, entries[i])
    if (account !== undefined || (node.tiers !== undefined && (tier !== undefined || trace !== undefined))) {
      const below = new CallerWalk({ domain, entries, tier, lookup, tiers, trace }).from(node, i, account)
      return onTheWay === undefined ? below : [...onTheWay, ...below]
    }
  }
  return onTheWay === undefined ? node.rules : [...onTheWay, ...node.rules]
}
