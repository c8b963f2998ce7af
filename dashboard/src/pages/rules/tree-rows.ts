import type { RuleLimit, RuleNode, RuleTree } from '../../api/operations.ts'
import { type Activities, NO_ACTIVITY } from './activity.ts'
import { ruleKey, type Switches, stateOf } from './switch-state.ts'

/** A TreeRow is one line of the tree: a domain, a pattern with one of its limits, or what is left out. */
export type TreeRow = DomainRow | PatternRow | MoreRow

interface Placed {
  /** Unique among rows. */
  readonly key: string
  readonly depth: number
}

export interface DomainRow extends Placed {
  readonly kind: 'domain'
  readonly name: string
  readonly version: string | null
  readonly evaluatesPath: boolean
  /** All of the domain, listed or not. */
  readonly limits: number
  /** None of its patterns is on this page of the tree. */
  readonly isElsewhere: boolean
  readonly isOpen: boolean
}

export interface PatternRow extends Placed {
  readonly kind: 'pattern'
  readonly domain: string
  /** The last step of the pattern's path: what it adds to the one above. */
  readonly step: string
  readonly id: string
  readonly tier: string | null
  /** The tier that the pattern belongs to: its own, or that of a pattern above. */
  readonly within: string | null
  /** Not there: nothing is limited at this pattern itself. */
  readonly limit: RuleLimit | undefined
  /** A further limit of the same pattern. */
  readonly isFurther: boolean
  /** The rule stands elsewhere, too, for every caller or further up: figures and switches are there. */
  readonly isRepeated: boolean
  /** Not there: nothing stands below. */
  readonly isOpen: boolean | undefined
  readonly below: number
}

export interface MoreRow extends Placed {
  readonly kind: 'more'
  readonly parent: string
  readonly left: number
}

export type Only = 'all' | 'shadow' | 'refusing'

export interface Shown {
  /** Keys of rows that are open. */
  readonly open: ReadonlySet<string>
  /** How many patterns a row shows below it, where that is more than the first ones. */
  readonly lengths: ReadonlyMap<string, number>
  readonly text: string
  readonly only: Only
  readonly switches: Switches
  readonly activities: Activities
}

/** Below one row, so many patterns are shown at first, and so many more each time. */
export const STEP_ROWS = 100
/** Of all rows, so many are shown at first: a page of thousands is slow and unreadable. */
export const MOST_ROWS = 400
/** The key under which lengths say how many rows are shown in all. */
export const WHOLE = ''

/** treeRows lists the rows that are to be seen. With a filter, the way to everything that it finds is open. */
export function treeRows(tree: RuleTree, shown: Shown): TreeRow[] {
  const walk = new Walk(shown)
  const rows = tree.domains.flatMap((domain) => walk.domain(domain))
  const most = shown.lengths.get(WHOLE) ?? MOST_ROWS
  if (rows.length <= most) return rows
  return [...rows.slice(0, most), { kind: 'more', key: 'more', depth: 0, parent: WHOLE, left: rows.length - most }]
}

/** firstOpen says what is open at first: all of a small tree, and the domains' names alone of a large one. */
export function firstOpen(tree: RuleTree): ReadonlySet<string> {
  return tree.limits > STEP_ROWS ? new Set() : new Set(allKeys(tree))
}

/** allKeys are the keys of everything that can be opened. */
export function allKeys(tree: RuleTree): string[] {
  const keys: string[] = []
  const visit = (domain: string, node: RuleNode, parent: string): void => {
    if (node.below.length === 0) return
    const key = nodeKey(parent, node)
    keys.push(key)
    for (const next of node.below) visit(domain, next, key)
  }
  for (const { name, patterns } of tree.domains) {
    keys.push(name)
    for (const node of patterns) visit(name, node, name)
  }
  return keys
}

const nodeKey = (parent: string, { id, tier }: RuleNode): string => `${parent}\n${tier ?? ''}\t${id}`

/** What stands above a row: its domain, its id, and the tier that it belongs to. */
interface Above {
  readonly domain: string
  readonly id: string
  readonly within: string | null
}

class Walk {
  readonly #shown: Shown
  readonly #words: readonly string[]
  readonly #isFiltered: boolean
  #seen = new Set<string>()
  /** Rules of every caller, which rules of tiers may replace. */
  #plain = new Set<string>()

  constructor(shown: Shown) {
    this.#shown = shown
    this.#words = shown.text.toLowerCase().split(/\s+/).filter(Boolean)
    this.#isFiltered = this.#words.length > 0 || shown.only !== 'all'
  }

  domain({ name, version, evaluates_path, limits, patterns }: RuleTree['domains'][number]): TreeRow[] {
    this.#seen = new Set()
    this.#plain = new Set(patterns.flatMap(plainRules))
    const wanted = this.#isFiltered ? patterns.filter((node) => this.#isWanted(name, node)) : patterns
    if (this.#isFiltered && wanted.length === 0) return []
    const isOpen = this.#isFiltered || this.#shown.open.has(name)
    const row: DomainRow = {
      kind: 'domain',
      key: name,
      depth: 0,
      name,
      version,
      evaluatesPath: evaluates_path,
      limits,
      isElsewhere: patterns.length === 0 && limits > 0,
      isOpen,
    }
    return isOpen ? [row, ...this.#below({ domain: name, id: '', within: null }, wanted, name, 1)] : [row]
  }

  #below(above: Above, nodes: readonly RuleNode[], parent: string, depth: number): TreeRow[] {
    const length = this.#shown.lengths.get(parent) ?? STEP_ROWS
    const rows = nodes.slice(0, length).flatMap((node) => this.#node(above, node, parent, depth))
    const left = nodes.length - length
    if (left > 0) rows.push({ kind: 'more', key: `${parent}\nmore`, depth, parent, left })
    return rows
  }

  #node({ domain, id: parentId, within: outer }: Above, node: RuleNode, parent: string, depth: number): TreeRow[] {
    const within = node.tier ?? outer
    const key = nodeKey(parent, node)
    const below = this.#isFiltered ? node.below.filter((next) => this.#isWanted(domain, next)) : node.below
    const isOpen = below.length === 0 ? undefined : this.#isFiltered || this.#shown.open.has(key)
    const limits = node.limits.length === 0 ? [undefined] : node.limits
    const rows = limits.map((limit, i): TreeRow => {
      const isRepeated =
        limit !== undefined && within !== null && (this.#plain.has(limit.id) || this.#seen.has(limit.id))
      if (limit !== undefined) this.#seen.add(limit.id)
      return {
        kind: 'pattern',
        key: i === 0 ? key : `${key}\n#${i}`,
        depth,
        domain,
        step: stepOf(node, parentId),
        id: node.id,
        tier: node.tier,
        within,
        limit,
        isFurther: i > 0,
        isRepeated,
        isOpen: i === 0 ? isOpen : undefined,
        below: below.length,
      }
    })
    return isOpen ? [...rows, ...this.#below({ domain, id: node.id, within }, below, key, depth + 1)] : rows
  }

  #isWanted(domain: string, node: RuleNode): boolean {
    return this.#isFound(domain, node) || node.below.some((next) => this.#isWanted(domain, next))
  }

  #isFound(domain: string, { id, tier, limits }: RuleNode): boolean {
    const { only } = this.#shown
    const path = `${domain}/${id} ${tier ?? ''}`
    if (limits.length === 0) return only === 'all' && this.#hasWords(path)
    return limits.some(
      (limit) => this.#hasWords(`${path} ${limit.name} ${limit.described}`) && this.#isOfKind(domain, limit, only),
    )
  }

  #hasWords(text: string): boolean {
    const whole = text.toLowerCase()
    return this.#words.every((word) => whole.includes(word))
  }

  #isOfKind(domain: string, limit: RuleLimit, only: Only): boolean {
    const { switches, activities } = this.#shown
    if (only === 'all') return true
    if (only === 'shadow') return stateOf(switches, domain, limit).mode === 'shadow'
    const { refused, shadowRefused } = activities.get(ruleKey(domain, limit.id)) ?? NO_ACTIVITY
    return refused + shadowRefused > 0
  }
}

function stepOf({ id, tier }: RuleNode, parentId: string): string {
  if (tier !== null || parentId === '') return id
  return id.startsWith(`${parentId}/`) ? id.slice(parentId.length + 1) : id
}

/** plainRules are the ids of rules that are there for every caller. */
function plainRules({ tier, limits, below }: RuleNode): string[] {
  return tier === null ? [...limits.map(({ id }) => id), ...below.flatMap(plainRules)] : []
}
