import type { Cidr } from '../core/identity/ip.ts'
import { CidrIndex } from '../core/rules/cidr-index.ts'
import type { Branch, Domain, Rule, RuleNode, RuleSet } from '../core/rules/rule-set.ts'
import { WildcardIndex } from '../core/rules/wildcard-index.ts'
import { canonicalPath, type Routing } from './request-path.ts'

/** The key of the entry that has the path of a request. */
export const PATH_KEY = 'path'

/**
 * Rewrites the paths in the rules of a domain to the form of request paths (canonicalPath), so that a rule applies
 * however its author wrote a path. Each domain is converted once per way of routing.
 */
export class RoutedRules {
  readonly #routed = new WeakMap<Domain, RuleSet[]>()

  /** Returns the rules of one domain, with paths that are written so. */
  of(rules: RuleSet, name: string, routing: Routing): RuleSet {
    const domain = rules.domains.get(name)
    if (domain === undefined) return rules
    const known = this.#routed.get(domain) ?? []
    const way = (routing.caseSensitive ? 1 : 0) + (routing.strict ? 2 : 0)
    const found = known[way]
    if (found !== undefined) return found
    const routed = { ...rules, domains: new Map([[name, { ...domain, root: routedNode(domain.root, routing) }]]) }
    known[way] = routed
    this.#routed.set(domain, known)
    return routed
  }
}

function routedNode(node: RuleNode, routing: Routing): RuleNode {
  const branches = new Map<string, Branch>()
  for (const [key, branch] of node.branches) branches.set(key, routedBranch(key, branch, routing))
  const tiers = node.tiers && new Map([...node.tiers].map(([name, tier]) => [name, routedNode(tier, routing)]))
  return { ...node, branches, tiers, rules: node.rules.map((rule) => routedRule(rule, routing)) }
}

/** Rewrites the paths that a request's weight depends on. */
function routedRule(rule: Rule, routing: Routing): Rule {
  const { cost } = rule
  if (typeof cost === 'number' || cost.by !== PATH_KEY) return rule
  const weights = new Map([...cost.weights].map(([path, weight]) => [canonicalPath(path, routing), weight]))
  return { ...rule, cost: { ...cost, weights } }
}

function routedBranch(key: string, branch: Branch, routing: Routing): Branch {
  const below = (node: RuleNode): RuleNode => routedNode(node, routing)
  const canonical = (value: string): string => (key === PATH_KEY ? canonicalPath(value, routing) : value)
  const exact = new Map<string, RuleNode>()
  for (const [value, node] of branch.exact) {
    const routedValue = canonical(value)
    exact.set(routedValue, joinedAt(exact, routedValue, below(node)))
  }
  const wildcards =
    branch.wildcards && wildcardsOf(branch.wildcards.entries.map(([text, node]) => [canonical(text), below(node)]))
  if (key === PATH_KEY && wildcards !== undefined && !routing.strict) addFolders(wildcards, exact)
  return { exact, wildcards, blocks: branch.blocks?.map(below), any: branch.any && below(branch.any) }
}

/**
 * Has `/files/*` match /files, too, where nothing else does: /files/, which the star matches, is the same path to such
 * a router.
 */
function addFolders(wildcards: WildcardIndex<RuleNode>, exact: Map<string, RuleNode>): void {
  for (const [pattern, node] of wildcards.entries) {
    const folder = pattern.slice(0, -2)
    const isFolder = pattern.endsWith('/*') && folder !== '' && !folder.includes('*')
    if (isFolder && !exact.has(folder) && wildcards.find(folder) === undefined) exact.set(folder, node)
  }
}

/** Returns what stands in two places that are the same path: the rules of both apply. */
function joined(one: RuleNode, other: RuleNode): RuleNode {
  const branches = new Map(one.branches)
  for (const [key, branch] of other.branches) {
    const known = branches.get(key)
    branches.set(key, known === undefined ? branch : joinedBranch(known, branch))
  }
  const tiers = new Map(one.tiers ?? other.tiers)
  for (const [name, tier] of (one.tiers && other.tiers) ?? []) tiers.set(name, joinedAt(tiers, name, tier))
  const isTiered = one.tiers !== undefined || other.tiers !== undefined
  const isFixed = one.isFixed || other.isFixed
  return { ...one, branches, tiers: isTiered ? tiers : undefined, isFixed, rules: [...one.rules, ...other.rules] }
}

/** Returns a node together with what already has its name. */
function joinedAt(nodes: ReadonlyMap<string, RuleNode>, name: string, node: RuleNode): RuleNode {
  const known = nodes.get(name)
  return known === undefined ? node : joined(known, node)
}

function joinedBranch(one: Branch, other: Branch): Branch {
  const exact = new Map(one.exact)
  for (const [value, node] of other.exact) exact.set(value, joinedAt(exact, value, node))
  const any = one.any && other.any ? joined(one.any, other.any) : (one.any ?? other.any)
  const wildcards =
    one.wildcards && other.wildcards
      ? wildcardsOf([...one.wildcards.entries, ...other.wildcards.entries])
      : (one.wildcards ?? other.wildcards)
  const blocks = one.blocks && other.blocks ? joinedBlocks(one.blocks, other.blocks) : (one.blocks ?? other.blocks)
  return { exact, any, wildcards, blocks }
}

/** Makes an index of patterns, of which some may be the same. */
function wildcardsOf(entries: readonly (readonly [pattern: string, node: RuleNode])[]): WildcardIndex<RuleNode> {
  const nodes = new Map<string, RuleNode>()
  for (const [pattern, node] of entries) nodes.set(pattern, joinedAt(nodes, pattern, node))
  const index = new WildcardIndex<RuleNode>()
  for (const [pattern, node] of nodes) index.add(pattern, node)
  return index
}

function joinedBlocks(one: CidrIndex<RuleNode>, other: CidrIndex<RuleNode>): CidrIndex<RuleNode> {
  const blocks = new Map<string, { readonly cidr: Cidr; readonly node: RuleNode }>()
  for (const index of [one, other]) {
    for (const [i, cidr] of index.blocks.entries()) {
      const id = `${cidr.base.join(' ')}/${cidr.bits}`
      const known = blocks.get(id)
      blocks.set(id, { cidr, node: known === undefined ? index.targets[i] : joined(known.node, index.targets[i]) })
    }
  }
  const index = new CidrIndex<RuleNode>()
  for (const { cidr, node } of blocks.values()) index.add(cidr, node)
  return index
}
