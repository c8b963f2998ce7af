import { describeRule } from 'sluice/internal/core/rules/describe'
import type { Branch, Rule, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { ObjectSchema, RefSchema } from 'sluice/internal/core/schema/schema'
import { list, named, needed, orNull as nullable, object, WHOLE, WORDS, YES_OR_NO } from '../../../records/forms.ts'

export const LIMIT = named(
  'RuleLimit',
  object({
    id: needed(WORDS),
    name: needed(WORDS),
    described: needed(WORDS, 'the limit in words'),
    limit: nullable(WHOLE, 'null: unlimited'),
    algorithm: needed(WORDS),
    is_shadow: needed(YES_OR_NO),
    is_quota: needed(YES_OR_NO),
  }),
)

/** A TreeNode is one pattern, with its limits and what stands below. */
export interface TreeNode {
  readonly id: string
  readonly tier: string | null
  readonly limits: readonly ReturnType<typeof limitOfRule>[]
  readonly below: readonly TreeNode[]
}

const NODE_FIELDS: ObjectSchema = object({
  id: needed(WORDS, 'the path of the pattern'),
  tier: nullable(WORDS, 'the tier whose limits stand here; null: of every caller'),
  limits: needed(list(LIMIT)),
  below: needed({ kind: 'list', of: { kind: 'ref', name: 'RuleNode', to: (): ObjectSchema => NODE_FIELDS } }),
})

export const NODE: RefSchema<TreeNode> = { kind: 'ref', name: 'RuleNode', to: () => NODE_FIELDS }

export const RULE_TREE = named(
  'RuleTree',
  object({
    limits: needed(WHOLE, 'how many there are in all'),
    omitted: needed(WHOLE, 'patterns that are not listed, because there are so many; ask for one domain'),
    domains: needed(
      list(
        object({
          name: needed(WORDS),
          version: nullable(WORDS),
          evaluates_path: needed(YES_OR_NO),
          patterns: needed(list(NODE)),
        }),
      ),
    ),
  }),
)

/** More help nobody, and a set may have 100,000. */
const MAX_NODES = 5_000

export function limitOfRule(rule: Rule) {
  return {
    id: rule.id,
    name: rule.name,
    described: describeRule(rule),
    limit: rule.unlimited ? null : rule.limit.max,
    algorithm: rule.limit.algorithm,
    is_shadow: rule.shadow,
    is_quota: rule.quota,
  }
}

/** ruleTree spells the rules in force as the service understands them. */
export function ruleTree(rules: RuleSet, domain: string | undefined) {
  const tree = new Tree()
  const domains = [...rules.domains.values()]
    .filter(({ name }) => domain === undefined || name === domain)
    .map(({ name, version, evaluatePath, root }) => ({
      name,
      version: version ?? null,
      evaluates_path: evaluatePath,
      patterns: tree.below(root),
    }))
  return { limits: rules.ruleCount, omitted: tree.omitted, domains }
}

/** nodesBelow spells what stands below a pattern. */
export const nodesBelow = (node: RuleNode): readonly TreeNode[] => new Tree().below(node)

class Tree {
  #count = 0
  omitted = 0

  below(node: RuleNode): TreeNode[] {
    return [...node.branches.values()].flatMap(nodesOf).flatMap((next) => this.#node(next))
  }

  #node(node: RuleNode, tier: string | null = null): TreeNode[] {
    if (this.#count >= MAX_NODES) {
      this.omitted++
      return []
    }
    this.#count++
    const tiers = [...(node.tiers ?? [])].flatMap(([name, set]) => this.#node(set, name))
    return [{ id: node.id, tier, limits: node.rules.map(limitOfRule), below: [...tiers, ...this.below(node)] }]
  }
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): readonly RuleNode[] {
  const nodes = [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]
  return [...new Set(any === undefined ? nodes : [...nodes, any])]
}
