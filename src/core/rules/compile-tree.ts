import { got } from '../errors.ts'
import { formatIp, parseCidr } from '../identity/ip.ts'
import { CidrIndex } from './cidr-index.ts'
import { compileRule } from './compile-rule.ts'
import type { DomainDefaults } from './limit-defaults.ts'
import type { Problems } from './problems.ts'
import type { RuleDocument } from './rule-document.ts'
import type { Branch, PathStep, Rule, RuleNode } from './rule-set.ts'
import type { DescriptorRule, TierRule } from './schema.ts'
import { SharedParts } from './shared-parts.ts'
import { WildcardIndex } from './wildcard-index.ts'

/** The named sets of limits of a domain, with the file that each stands in. */
export type Tiers = ReadonlyMap<string, { readonly tier: TierRule; readonly source: RuleDocument }>

/** A list of descriptors of one file, and where it stands. */
export interface Level {
  readonly source: RuleDocument
  readonly at: readonly PropertyKey[]
  readonly descriptors: readonly DescriptorRule[]
}

/**
 * Where a level stands: below a tiered descriptor, below one that says that it is not, in a tier, or in none of these.
 */
type Within = 'tiered' | 'fixed' | 'tier' | undefined

interface MutableBranch {
  readonly exact: Map<string, RuleNode>
  blocks: CidrIndex<RuleNode> | undefined
  wildcards: WildcardIndex<RuleNode> | undefined
  any: RuleNode | undefined
}

const NO_BRANCHES: ReadonlyMap<string, Branch> = new Map()

/** Turns levels of descriptors into the tree that requests are matched against. */
export class TreeCompiler {
  ruleCount = 0
  /** Keys that any level of the domain marks as secret. */
  readonly secretKeys = new Set<string>()
  readonly #tiers: Tiers
  readonly #defaults: DomainDefaults
  readonly #problems: Problems
  readonly #shared = new SharedParts()

  constructor(tiers: Tiers, defaults: DomainDefaults, problems: Problems) {
    this.#tiers = tiers
    this.#defaults = defaults
    this.#problems = problems
  }

  /** Compiles the first levels of all files of a domain into one. */
  root(levels: readonly Level[]): RuleNode {
    return this.#node({ id: '', path: [], rules: [], tiers: undefined, isFixed: false }, levels, undefined)
  }

  /** Reports what is wrong with tiers, even where nothing is tiered, or only what is switched off. */
  checkTiers(): void {
    const { ruleCount } = this
    this.#tierNodes('', [], { key: '' })
    this.ruleCount = ruleCount
  }

  /** Compiles what stands in place of a tiered pattern that was compiled before, for each tier. */
  tiersFor(
    { id, path }: Pick<RuleNode, 'id' | 'path'>,
    modes: Pick<Rule, 'shadow' | 'quota'>,
  ): ReadonlyMap<string, RuleNode> {
    return this.#tierNodes(id, path, { key: '', shadow_mode: modes.shadow, quota_mode: modes.quota })
  }

  #node(own: Omit<RuleNode, 'branches'>, levels: readonly Level[], within: Within): RuleNode {
    const branches = new Map<string, MutableBranch>()
    const first = new Map<string, DescriptorPlace>()
    for (const { source, at, descriptors } of levels) {
      descriptors.forEach((descriptor, i) => {
        const here = { source, at: [...at, i] }
        if (descriptor.secret === true) this.secretKeys.add(descriptor.key)
        const isFirst = this.#isFirst(descriptor, here, first)
        // What stands there already is checked all the same, but leads nowhere.
        if (descriptor.enabled !== false) this.#addBranch(isFirst ? branches : new Map(), descriptor, here, own, within)
      })
    }
    for (const { blocks, wildcards } of branches.values()) {
      blocks?.seal()
      wildcards?.seal()
    }
    const { id, path, rules, tiers, isFixed } = own
    return Object.freeze({ id, path, rules, tiers, isFixed, branches: branches.size === 0 ? NO_BRANCHES : branches })
  }

  /** Reports a key (with the same value, or the same block) that stands on this level already. */
  #isFirst(descriptor: DescriptorRule, place: DescriptorPlace, first: Map<string, DescriptorPlace>): boolean {
    const { key, value, cidr } = descriptor
    const patterns = patternsOf(descriptor)
    const texts = patterns.map((pattern) => JSON.stringify([key, cidr ? canonical(pattern) : pattern, !cidr]))
    const twice = texts.findIndex((pattern) => first.has(pattern))
    if (twice < 0) {
      for (const pattern of texts) first.set(pattern, place)
      return true
    }
    const pattern = patterns[twice]
    const shown = descriptor.secret === true ? 'a secret value' : JSON.stringify(pattern)
    const named = pattern === '' ? JSON.stringify(key) : `${JSON.stringify(key)} with ${shown}`
    const option = cidr !== undefined ? 'cidr' : value === undefined ? 'key' : 'value'
    const before = mention(first.get(texts[twice]) as DescriptorPlace, place)
    this.#problems.add('RULE_DUPLICATE_KEY', locate(place, option), `${named} is already defined at ${before}`)
    return false
  }

  #addBranch(
    branches: Map<string, MutableBranch>,
    descriptor: DescriptorRule,
    place: DescriptorPlace,
    parent: Omit<RuleNode, 'branches'>,
    within: Within,
  ): void {
    this.#checkDescriptor(descriptor, place, within)
    const { key, value } = descriptor
    const node = this.#descend(descriptor, place, parent, within)
    const branch = branches.get(key) ?? { exact: new Map(), blocks: undefined, wildcards: undefined, any: undefined }
    branches.set(key, branch)
    if (descriptor.cidr !== undefined) this.#addBlocks(branch, descriptor.cidr, node, place)
    else if (value === undefined || value === '') branch.any = node
    else if (value.includes('*')) {
      branch.wildcards ??= new WildcardIndex()
      branch.wildcards.add(value, node)
    } else branch.exact.set(value, node)
  }

  #addBlocks(branch: MutableBranch, cidr: string | string[], node: RuleNode, { source, at }: DescriptorPlace): void {
    branch.blocks ??= new CidrIndex()
    for (const [i, text] of (typeof cidr === 'string' ? [cidr] : cidr).entries()) {
      const where = source.locate(typeof cidr === 'string' ? [...at, 'cidr'] : [...at, 'cidr', i])
      // A single address is more often a block whose length was forgotten.
      const block = text.includes('/') ? parseCidr(text) : undefined
      if (block === undefined) this.#problems.add('RULE_CIDR_INVALID', where, got(text))
      else if (!branch.blocks.add(block, node)) {
        this.#problems.add('RULE_DUPLICATE_KEY', where, `${JSON.stringify(text)} is already in this list`)
      }
    }
  }

  #descend(
    descriptor: DescriptorRule,
    place: DescriptorPlace,
    parent: Omit<RuleNode, 'branches'>,
    within: Within,
  ): RuleNode {
    const { source, at } = place
    const step = stepId(descriptor)
    const id = parent.id === '' ? step : `${parent.id}/${step}`
    const path = this.#shared.path(parent.path, pathStep(descriptor))
    const rules = this.#rules(descriptor, place, id, path, descriptor)
    const isTiered = descriptor.tiered === true && (within === undefined || within === 'fixed')
    const tiers = isTiered ? this.#tierNodes(id, path, descriptor) : undefined
    const isFixed = descriptor.tiered === undefined ? parent.isFixed : !descriptor.tiered
    const below = { source, at: [...at, 'descriptors'], descriptors: descriptor.descriptors ?? [] }
    const inside = isTiered ? 'tiered' : isFixed && within !== 'tier' ? 'fixed' : within
    return this.#node({ id, path, rules, tiers, isFixed }, [below], inside)
  }

  /** Compiles what stands in place of a tiered descriptor, for each tier. */
  #tierNodes(id: string, path: readonly PathStep[], tiered: DescriptorRule): ReadonlyMap<string, RuleNode> {
    const nodes = new Map<string, RuleNode>()
    for (const [name, { tier, source }] of this.#tiers) {
      const at = ['tiers', name]
      const rules = this.#rules(tier, { source, at }, id, path, tiered)
      const below = { source, at: [...at, 'descriptors'], descriptors: tier.descriptors ?? [] }
      nodes.set(name, this.#node({ id, path, rules, tiers: undefined, isFixed: false }, [below], 'tier'))
    }
    return nodes
  }

  #rules(
    limits: Pick<DescriptorRule, 'rate_limit' | 'rate_limits'>,
    { source, at }: DescriptorPlace,
    id: string,
    path: readonly PathStep[],
    { shadow_mode, quota_mode }: DescriptorRule,
  ): readonly Rule[] {
    const { rate_limit: one, rate_limits: several } = limits
    if (one !== undefined && several !== undefined) {
      const where = source.locate([...at, 'rate_limits'], 'key')
      this.#problems.add('RULE_COMBINATION', where, 'rate_limits and rate_limit cannot be combined')
    }
    const inherited = {
      source,
      path,
      defaults: this.#defaults,
      shared: this.#shared,
      shadow: shadow_mode === true,
      quota: quota_mode === true,
    }
    const rules = one
      ? [compileRule(one, { ...inherited, at: [...at, 'rate_limit'], id }, this.#problems)]
      : (several ?? []).map((rate, i) =>
          compileRule(rate, { ...inherited, at: [...at, 'rate_limits', i], id: limitId(id, i) }, this.#problems),
        )
    const compiled = rules.filter((rule) => rule !== undefined)
    this.ruleCount += compiled.length
    return Object.freeze(compiled)
  }

  #checkDescriptor(descriptor: DescriptorRule, place: DescriptorPlace, within: Within): void {
    const report = (option: string, detail: string): void =>
      this.#problems.add('RULE_COMBINATION', locate(place, option, 'key'), detail)
    const { value, cidr } = descriptor
    if (cidr !== undefined && value !== undefined) report('cidr', 'cidr and value cannot be combined')
    if (descriptor.share_threshold === true && !value?.includes('*')) {
      report('share_threshold', 'share_threshold without a * in value')
    }
    if (descriptor.tiered !== true) return
    if (within === 'tier') report('tiered', 'tiered inside of a tier')
    if (within === 'tiered') report('tiered', 'tiered below a tiered descriptor')
  }
}

interface DescriptorPlace {
  readonly source: RuleDocument
  readonly at: readonly PropertyKey[]
}

function locate({ source, at }: DescriptorPlace, option: string, of?: 'key'): string {
  return source.locate([...at, option], of)
}

/** Names a descriptor in an error about another: the line is enough within a file. */
function mention({ source, at }: DescriptorPlace, from: DescriptorPlace): string {
  return source === from.source ? source.line([...at, 'key']) : source.locate([...at, 'key'])
}

/** Returns the id of the i-th limit of a pattern. The first has the pattern's own, as a single one has. */
export function limitId(patternId: string, i: number): string {
  return i === 0 ? patternId : `${patternId}#${i + 1}`
}

/** Formats a block in its canonical form. */
function canonical(text: string): string {
  const block = parseCidr(text)
  return block === undefined ? text : `${formatIp(block.base)}/${block.bits}`
}

/** Returns what a level adds to the id of a rule. Ids are stored, logged and shown, and so hold no secret. */
function stepId(descriptor: DescriptorRule): string {
  const patterns = patternsOf(descriptor)
  if (patterns[0] === '') return descriptor.key
  return `${descriptor.key}=${descriptor.secret === true ? '(secret)' : patterns.join(',')}`
}

/** Returns what a descriptor matches values by: its value, its address blocks, or '' for any. */
function patternsOf({ value, cidr }: DescriptorRule): readonly string[] {
  if (cidr === undefined) return [value ?? '']
  return typeof cidr === 'string' ? [cidr] : cidr
}

function pathStep(descriptor: DescriptorRule): PathStep {
  const patterns = patternsOf(descriptor)
  const [pattern] = patterns
  const isShared = descriptor.share_threshold === true
  const isWild = !isShared && (descriptor.cidr !== undefined || pattern.includes('*'))
  return Object.freeze({
    isOpen: isWild || (!isShared && pattern === ''),
    wildcard: isWild ? patterns.join(',') : undefined,
    secret: descriptor.secret === true,
    sharedAs: isShared ? descriptor.value : undefined,
    detailedMetric: descriptor.detailed_metric === true,
    valueToMetric: descriptor.value_to_metric === true,
    metadata: descriptor.metadata ? { ...descriptor.metadata } : undefined,
  })
}
