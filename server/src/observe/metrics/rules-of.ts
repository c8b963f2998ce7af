import type { Branch, Rule, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'

/** A rule of a set, and where it stands. */
export interface PlacedRule {
  readonly domain: string
  readonly rule: Rule
  /** The tier whose callers it is for. */
  readonly tier: string | undefined
}

/** Lists the rules of a set, in the order of their files. Callers that need only some stop early. */
export function* rulesOf({ domains }: RuleSet): Generator<PlacedRule> {
  for (const { name, root } of domains.values()) yield* rulesBelow(root, name, undefined)
}

/** Lists the rules below a node. */
export function* rulesBelow(node: RuleNode, domain: string, tier: string | undefined): Generator<PlacedRule> {
  for (const branch of node.branches.values()) {
    for (const next of nodesOf(branch)) {
      for (const rule of next.rules) yield { domain, rule, tier }
      for (const [name, own] of next.tiers ?? []) {
        for (const rule of own.rules) yield { domain, rule, tier: name }
        yield* rulesBelow(own, domain, name)
      }
      yield* rulesBelow(next, domain, tier)
    }
  }
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): ReadonlySet<RuleNode> {
  const nodes = new Set([...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])])
  return any === undefined ? nodes : nodes.add(any)
}
