import type { Entry } from '../request.ts'
import type { RuleNode } from './rule-set.ts'

/** Returns where an entry leads from a node. */
export function stepInto(node: RuleNode, { key, value }: Entry): RuleNode | undefined {
  const branch = node.branches.get(key)
  if (branch === undefined) return undefined
  return branch.exact.get(value) ?? branch.blocks?.find(value) ?? branch.wildcards?.find(value) ?? branch.any
}
