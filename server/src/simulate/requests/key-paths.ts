import type { Domain, RuleNode } from 'sluice/internal/core/rules/rule-set'

/** The keys of a descriptor, in their order. */
export type KeyPath = readonly string[]

/**
 * Returns the descriptors that the rules of a domain are about, by their keys: those that a caller has to send for
 * every rule to be asked. Where rules on the way apply too, the longest are enough.
 */
export function keyPathsOf({ root, evaluatePath }: Domain): readonly KeyPath[] {
  const found = new Map<string, KeyPath>()
  collect(root, [], found)
  const paths = [...found.values()]
  return evaluatePath ? paths.filter((path) => !paths.some((other) => isBeginning(path, other))) : paths
}

function collect(node: RuleNode, path: KeyPath, found: Map<string, KeyPath>): void {
  if (node.rules.length > 0 && path.length > 0) found.set(JSON.stringify(path), path)
  for (const [key, branch] of node.branches) {
    const below = [...branch.exact.values(), ...(branch.blocks?.targets ?? []), ...(branch.wildcards?.targets ?? [])]
    if (branch.any !== undefined) below.push(branch.any)
    const longer = [...path, key]
    for (const next of new Set(below)) collect(next, longer, found)
  }
  for (const set of node.tiers?.values() ?? []) collect(set, path, found)
}

function isBeginning(path: KeyPath, of: KeyPath): boolean {
  return path.length < of.length && path.every((key, i) => key === of[i])
}
