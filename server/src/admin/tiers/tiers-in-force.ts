import { compileTier } from 'sluice/internal/core/rules/compile-tier'
import { RulesError } from 'sluice/internal/core/rules/problems'
import type { Domain, RuleNode } from 'sluice/internal/core/rules/rule-set'
import type { StoredTier } from '../../quotas/model.ts'
import { limitOfRule, nodesBelow } from '../rules/rule-tree.ts'

/** tiersInForce lists the tiers of a domain as decisions find them: one that is stored goes before one of a file. */
export function tiersInForce(domain: Domain, stored: readonly StoredTier[]) {
  const ofDomain = stored.filter((tier) => tier.domain === domain.name)
  const found = new Map<string, { readonly node: RuleNode; readonly isStored: boolean }>()
  for (const tiered of tieredBelow(domain.root)) {
    for (const tier of ofDomain) {
      const node = found.has(tier.name) ? undefined : compiled(domain, tiered, tier)
      if (node !== undefined) found.set(tier.name, { node, isStored: true })
    }
    for (const [name, node] of tiered.tiers ?? []) if (!found.has(name)) found.set(name, { node, isStored: false })
  }
  // One that is stored needs no `tiered: true`.
  for (const tier of ofDomain) {
    const node = found.has(tier.name) ? undefined : compiled(domain, domain.root, tier)
    if (node !== undefined) found.set(tier.name, { node, isStored: true })
  }
  return [...found].map(([name, { node, isStored }]) => ({
    domain: domain.name,
    name,
    is_stored: isStored,
    limits: node.rules.map(limitOfRule),
    below: nodesBelow(node),
  }))
}

/** tieredBelow finds the patterns that ask for a tier. */
function* tieredBelow(node: RuleNode): Iterable<RuleNode> {
  if (node.tiers !== undefined) yield node
  for (const { exact, blocks, wildcards, any } of node.branches.values()) {
    for (const next of [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]) {
      yield* tieredBelow(next)
    }
    if (any !== undefined) yield* tieredBelow(any)
  }
}

/** A stored tier that does not fit the rules of today is passed over, as decisions do. */
function compiled(domain: Domain, tiered: RuleNode, { name, limits }: StoredTier): RuleNode | undefined {
  try {
    return compileTier(domain, tiered, { name, limits, where: `tiers.${name}` })
  } catch (error) {
    if (!(error instanceof RulesError)) throw error
    return undefined
  }
}
