import type { Limit } from '../limit.ts'
import type { Entry } from '../request.ts'
import { ownRules } from './own-rules.ts'
import type { Domain, Rule, RuleNode } from './rule-set.ts'

export { stepWithoutPattern } from './own-rules.ts'

/**
 * An Account is what is known about one caller: the tier, and limits of the caller's own. `limitsFor` takes what stands
 * below the tiered pattern: '' for the pattern itself, `endpoint=POST /orders` for a level below. `instead` is the first of the
 * rules that they would stand in for.
 */
export interface Account {
  readonly tier: string | undefined
  limitsFor(path: string, instead?: Rule): readonly Limit[] | undefined
  /** sourceOf says, for people, where the limits of limitsFor come from. */
  sourceOf?(path: string): string | undefined
}

/** AccountLookup finds the account behind an entry of a tiered pattern, such as an API key. It answers from memory. */
export type AccountLookup = (domain: string, entry: Entry) => Account | undefined

/** TierLookup finds a tier that stands in place of the one in the rules, or beside those. It answers from memory. */
export type TierLookup = (domain: Domain, tiered: RuleNode, name: string) => RuleNode | undefined

const NO_MATCH: readonly Rule[] = []
const NO_ENTRIES: readonly Entry[] = []

/**
 * match returns the rules that apply to a descriptor. It walks down one level for each entry and never turns back: the
 * exact value first, then the most specific address block, then the first wildcard in file order, then the bare key. A
 * rule applies where its depth is the number of entries; with `evaluate: path` those on the way apply too. The cost
 * grows with the number of entries, not with the number of rules.
 */
export function match(
  domain: Domain,
  entries: readonly Entry[],
  tier?: string,
  lookup?: AccountLookup,
  tiers?: TierLookup,
): readonly Rule[] {
  let node: RuleNode | undefined = domain.root
  let onTheWay: Rule[] | undefined
  for (let i = 0; i < entries.length; i++) {
    if (domain.evaluatePath && node.rules.length > 0) onTheWay = [...(onTheWay ?? []), ...node.rules]
    node = stepInto(node, entries[i])
    if (node === undefined) return onTheWay ?? NO_MATCH
    if (node.tiers !== undefined && (tier !== undefined || lookup !== undefined)) {
      const below = matchTiered({ domain, tiered: node, entries, at: i, tier, lookup, tiers })
      return onTheWay === undefined ? below : [...onTheWay, ...below]
    }
  }
  return onTheWay === undefined ? node.rules : [...onTheWay, ...node.rules]
}

/** stepInto returns where an entry leads from a node. */
export function stepInto(node: RuleNode, { key, value }: Entry): RuleNode | undefined {
  const branch = node.branches.get(key)
  if (branch === undefined) return undefined
  return branch.exact.get(value) ?? branch.blocks?.find(value) ?? branch.wildcards?.find(value) ?? branch.any
}

interface TieredMatch {
  readonly domain: Domain
  readonly tiered: RuleNode
  readonly entries: readonly Entry[]
  /** The position of the entry that led to the tiered pattern. */
  readonly at: number
  readonly tier: string | undefined
  readonly lookup: AccountLookup | undefined
  readonly tiers: TierLookup | undefined
}

/**
 * matchTiered matches what is left of a descriptor from a tiered pattern on. It walks down the pattern and the set of the
 * caller's tier side by side. On each level, limits of the caller's own come first, then those of the tier; where
 * neither says anything, the pattern's.
 */
function matchTiered({ domain, tiered, entries, at, tier, lookup, tiers }: TieredMatch): readonly Rule[] {
  const account = lookup?.(domain.name, entries[at])
  let pattern: RuleNode | undefined = tiered
  let set = tierOf(domain, tiered, tier ?? account?.tier, tiers)
  let found: readonly Rule[] = NO_MATCH
  for (let i = at; ; i++) {
    const isLast = i === entries.length - 1
    if (isLast || domain.evaluatePath) {
      const node: RuleNode | undefined = set !== undefined && set.rules.length > 0 ? set : pattern
      const rules = (account && accountRules(account, { domain, tiered, entries, at, to: i, node })) ?? node?.rules
      if (rules !== undefined && rules.length > 0) found = found.length === 0 ? rules : [...found, ...rules]
    }
    if (isLast) return found
    pattern &&= stepInto(pattern, entries[i + 1])
    set &&= stepInto(set, entries[i + 1])
    if (pattern === undefined && set === undefined && account === undefined) return found
  }
}

/** tierOf returns what a tier says in place of a tiered pattern. */
export function tierOf(
  domain: Domain,
  tiered: RuleNode,
  name: string | undefined,
  tiers: TierLookup | undefined,
): RuleNode | undefined {
  if (name === undefined) return undefined
  return tiers?.(domain, tiered, name) ?? tiered.tiers?.get(name)
}

interface AccountMatch extends Omit<TieredMatch, 'tier' | 'lookup' | 'tiers'> {
  /** The position of the last entry, and the node that it led to. */
  readonly to: number
  readonly node: RuleNode | undefined
}

/** accountRules returns the rules of a caller's own on one level, if the account has any. */
function accountRules(account: Account, match: AccountMatch): readonly Rule[] | undefined {
  const { domain, tiered, entries, at, to, node: instead } = match
  const rest = to === at ? NO_ENTRIES : entries.slice(at + 1, to + 1)
  const restText = to === at ? '' : rest.map(({ key, value }) => `${key}=${value}`).join('/')
  const limits = account.limitsFor(restText, instead?.rules[0])
  return limits && ownRules({ limits, domain, tiered, caller: entries[at], rest, restText, instead })
}
