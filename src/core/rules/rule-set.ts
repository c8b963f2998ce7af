import type { LimitDefaults } from '../limit-options.ts'
import type { PathStep, Rule } from '../rule.ts'
import type { CidrIndex } from './cidr-index.ts'
import type { WildcardIndex } from './wildcard-index.ts'

export type { Cost, PathStep, Rule, RuleLedger, RuleResponse } from '../rule.ts'

/** One level of the pattern tree: the rules that apply here, and where the next entry leads. */
export interface RuleNode {
  readonly rules: readonly Rule[]
  /** By the entry's key. Maps, because a caller may name an entry `__proto__`. */
  readonly branches: ReadonlyMap<string, Branch>
  /** For `tiered: true`: what stands here instead, by the caller's tier. */
  readonly tiers: ReadonlyMap<string, RuleNode> | undefined
  /** `tiered: false`, here or above: nothing that is known of a caller changes the rules. */
  readonly isFixed: boolean
  /** The id of the pattern, for rules that are made for one caller. */
  readonly id: string
  readonly path: readonly PathStep[]
}

/** Leads from an entry's key to the next level: by exact value, address block, wildcard, or any value. */
export interface Branch {
  readonly exact: ReadonlyMap<string, RuleNode>
  readonly blocks: CidrIndex<RuleNode> | undefined
  readonly wildcards: WildcardIndex<RuleNode> | undefined
  readonly any: RuleNode | undefined
}

/** The rules of one name space. */
export interface Domain {
  readonly name: string
  readonly root: RuleNode
  /** Rules on the way down apply too. */
  readonly evaluatePath: boolean
  /** True where a descriptor's `tier` entry picks a set of limits, instead of being matched. */
  readonly hasTiers: boolean
  /**
   * Keys that some level marks as secret: without a pattern that says otherwise, their values are encoded as secrets.
   */
  readonly secretKeys: ReadonlySet<string>
  readonly version: string | undefined
  /** The domain's defaults for limits, for limits that are compiled later. */
  readonly defaults: LimitDefaults
}

/** All rules of all domains, compiled once and frozen. */
export interface RuleSet {
  readonly domains: ReadonlyMap<string, Domain>
  readonly ruleCount: number
  /** The content as 12 hexadecimal digits, see rulesVersion. */
  readonly version: string
}
