import { describeRule } from 'sluice/internal/core/rules/describe'
import type { Branch, Rule, RuleNode, RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { ObjectSchema, RefSchema } from 'sluice/internal/core/schema/schema'
import { atOnce, inTurns, type Steps } from '../../observe/hot-keys/steps.ts'
import { list, named, needed, orNull as nullable, object, WHOLE, WORDS, YES_OR_NO } from '../../records/forms.ts'

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
    found: needed(WHOLE, 'how many patterns there are of what was asked for'),
    omitted: needed(WHOLE, 'how many of those come after the ones that are listed; `skip` leads there'),
    domains: needed(
      list(
        object({
          name: needed(WORDS),
          version: nullable(WORDS),
          evaluates_path: needed(YES_OR_NO),
          limits: needed(WHOLE, 'how many there are in the domain, listed or not'),
          patterns: needed(list(NODE)),
        }),
      ),
    ),
  }),
)

/** How many patterns an answer has at most: a set may have 100,000. */
export const MAX_NODES = 5_000

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

/** A TreeQuery says which patterns are wanted. */
export interface TreeQuery {
  readonly domain: string | undefined
  /** Words, each of which is part of a domain, a path, a tier, or of a name or a description of a limit. */
  readonly text: string
  /** Default: every limit. */
  readonly isWanted?: (domain: string, rule: Rule) => boolean
  readonly skip: number
  readonly limit: number
}

/** ruleTree lists patterns of the rules in force, with those above them. Other requests are answered in between. */
export const ruleTree = (rules: RuleSet, query: TreeQuery) => inTurns(listing(rules, query))

function* listing(rules: RuleSet, query: TreeQuery) {
  const domains: object[] = []
  let before = 0
  let listed = 0
  for (const { name, version, evaluatePath, root } of rules.domains.values()) {
    if (query.domain !== undefined && query.domain !== name) continue
    const tree = new Tree(name, query, before)
    const patterns = yield* tree.below(root)
    before += tree.found
    listed += tree.listed
    domains.push({ name, version: version ?? null, evaluates_path: evaluatePath, limits: tree.limits, patterns })
  }
  const omitted = Math.max(0, before - query.skip - listed)
  return { limits: rules.ruleCount, found: before, omitted, domains }
}

/** nodesBelow lists what stands below a pattern. */
export const nodesBelow = (node: RuleNode): readonly TreeNode[] =>
  atOnce(new Tree('', { domain: undefined, text: '', skip: 0, limit: MAX_NODES }, 0).below(node))

/** How many patterns are looked at before the work may rest; each takes about a microsecond. */
const NODES_A_STEP = 64

class Tree {
  readonly #domain: string
  readonly #query: TreeQuery
  readonly #words: readonly string[]
  /** How many wanted patterns come before this tree. */
  readonly #before: number
  #looked = 0
  found = 0
  listed = 0
  limits = 0

  constructor(domain: string, query: TreeQuery, before: number) {
    this.#domain = domain
    this.#query = query
    this.#words = query.text.toLowerCase().split(/\s+/).filter(Boolean)
    this.#before = before
  }

  *below(node: RuleNode): Steps<TreeNode[]> {
    const nodes: TreeNode[] = []
    for (const branch of node.branches.values()) {
      for (const next of nodesOf(branch)) nodes.push(...(yield* this.#node(next, null)))
    }
    return nodes
  }

  *#node(node: RuleNode, tier: string | null): Steps<TreeNode[]> {
    if (++this.#looked % NODES_A_STEP === 0) yield NODES_A_STEP * 8
    this.limits += node.rules.length
    const isListed = this.#isFound(node, tier) && this.#isOnPage()
    const tiers: TreeNode[] = []
    for (const [name, set] of node.tiers ?? []) tiers.push(...(yield* this.#node(set, name)))
    const below = [...tiers, ...(yield* this.below(node))]
    if (!isListed && below.length === 0) return []
    return [{ id: node.id, tier, limits: node.rules.map(limitOfRule), below }]
  }

  #isOnPage(): boolean {
    const at = this.#before + this.found++ - this.#query.skip
    if (at < 0 || at >= this.#query.limit) return false
    this.listed++
    return true
  }

  #isFound({ id, rules }: RuleNode, tier: string | null): boolean {
    const { isWanted } = this.#query
    if (this.#words.length === 0 && isWanted === undefined) return true
    const path = `${this.#domain}/${id} ${tier ?? ''}`
    if (rules.length === 0) return isWanted === undefined && this.#hasWords(path)
    return rules.some(
      (rule) =>
        isWanted?.(this.#domain, rule) !== false && this.#hasWords(`${path} ${rule.name} ${describeRule(rule)}`),
    )
  }

  #hasWords(text: string): boolean {
    const whole = text.toLowerCase()
    return this.#words.every((word) => whole.includes(word))
  }
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): readonly RuleNode[] {
  const nodes = [...exact.values(), ...(blocks?.targets ?? []), ...(wildcards?.targets ?? [])]
  return [...new Set(any === undefined ? nodes : [...nodes, any])]
}
