import type { Branch, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'

/** Larger sets are called by their ids: to look through them would hold other requests up. */
const MOST_RULES = 100_000

type Names = ReadonlyMap<string, ReadonlyMap<string, string>>
const known = new WeakMap<RuleSet, Names>()

/** ruleNames returns what finds the name of a rule, as response headers and explanations have it: the id, unless the rule has another. */
export function ruleNames(rules: RuleSet): (domain: string, id: string) => string {
  const names = known.get(rules) ?? namesIn(rules)
  known.set(rules, names)
  return (domain, id) => names.get(domain)?.get(id) ?? id
}

function namesIn({ domains, ruleCount }: RuleSet): Names {
  if (ruleCount > MOST_RULES) return new Map()
  return new Map([...domains.values()].map(({ name, root }) => [name, namesBelow(root)]))
}

/** namesBelow lists the rules that are not called by their id. That of every caller goes before that of a tier. */
function namesBelow(root: RuleNode): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const waiting = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const sets = [...(node.tiers?.values() ?? [])]
    for (const { id, name } of [...node.rules, ...sets.flatMap((set) => set.rules)]) {
      if (name !== id && !names.has(id)) names.set(id, name)
    }
    for (const each of [...sets, node]) for (const branch of each.branches.values()) waiting.push(...nodesOf(branch))
  }
  return names
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): readonly RuleNode[] {
  const nodes = [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]
  return any === undefined ? nodes : [...nodes, any]
}
