import type { RuleNode } from './rule-set.ts'

/** Yields the nodes that the entries of one more level lead to, each once for every key that leads there. */
export function* nodesBelow(node: RuleNode): Generator<RuleNode> {
  for (const { exact, blocks, wildcards, any } of node.branches.values()) {
    const below = [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]
    if (any !== undefined) below.push(any)
    yield* new Set(below)
  }
}
