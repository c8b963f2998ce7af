import { describeRule } from 'sluice/internal/core/rules/describe'
import type { Branch, Rule, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { Unit } from '../../edge/rls/rule-forms.ts'
import { unitOf } from '../../edge/rls/rule-forms.ts'

/**
 * Lists the rules in force, a line for each limit, in the form of envoyproxy/ratelimit's /rlconfig:
 * `domain.key_value.key: unit=MINUTE requests_per_unit=5, shadow_mode: false, quota_mode: false`. What follows the `#`
 * is ours: the limit with all that the rest of the line cannot say.
 */
export function listRules(rules: RuleSet): string[] {
  const lines: string[] = []
  for (const { name, root } of rules.domains.values()) listBelow(root, name, lines)
  return lines
}

function listBelow(node: RuleNode, path: string, lines: string[]): void {
  for (const branch of node.branches.values()) for (const next of nodesOf(branch)) listNode(next, node, path, lines)
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): ReadonlySet<RuleNode> {
  const nodes = new Set([...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])])
  return any === undefined ? nodes : nodes.add(any)
}

function listNode(node: RuleNode, parent: RuleNode, path: string, lines: string[]): void {
  const step = parent.id === '' ? node.id : node.id.slice(parent.id.length + 1)
  const here = `${path}.${step.replace('=', '_')}`
  for (const rule of node.rules) lines.push(lineOf(here, rule))
  for (const [tier, set] of node.tiers ?? []) {
    for (const rule of set.rules) lines.push(lineOf(`${here} (tier ${tier})`, rule))
    listBelow(set, `${here} (tier ${tier})`, lines)
  }
  listBelow(node, here, lines)
}

function lineOf(path: string, rule: Rule): string {
  const unit: Unit = rule.unlimited ? 'UNKNOWN' : unitOf(rule.limit).unit
  const requests = rule.unlimited ? 0 : rule.limit.max
  const modes = `shadow_mode: ${rule.shadow}, quota_mode: ${rule.quota}`
  return `${path}: unit=${unit} requests_per_unit=${requests}, ${modes} # ${describeRule(rule)}`
}
