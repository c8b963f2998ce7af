import type { Limit } from '../limit.ts'
import type { CidrIndex } from './cidr-index.ts'
import type { WildcardIndex } from './wildcard-index.ts'

/** A Rule is one limit attached to a descriptor pattern. */
export interface Rule {
  /** Stable across reloads: the pattern's path, and the position where a pattern has several limits. */
  readonly id: string
  /** What callers see: the author's `name`, or the id. */
  readonly name: string
  readonly limit: Limit
  /** No limit at all: the store is not asked. `limit` is then the largest there is. */
  readonly unlimited: boolean
  /** Reports, but never refuses. */
  readonly shadow: boolean
  /** Refuses only when every rule in quota mode that applies does. */
  readonly quota: boolean
  /** Names of rules that do not apply to a request to which this one does. */
  readonly replaces: readonly string[]
  readonly cost: Cost
  readonly consistency: 'exact' | 'leased' | 'eventual'
  readonly syncIntervalMs: number
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  readonly localShare: number
  readonly timeoutMs: number
  /** 0 is never shed, 3 is shed first. */
  readonly priority: number
  readonly response: RuleResponse | undefined
  readonly retryAfterJitterMs: number
  /** How the entries of the pattern are spelled, position by position. Its length is the rule's depth. */
  readonly path: readonly PathStep[]
}

/** A PathStep is one level of a rule's pattern. */
export interface PathStep {
  /** The pattern leaves the value open: it is the caller's, not the rule's. */
  readonly isOpen: boolean
  /** Values are spelled as a keyed hash. */
  readonly secret: boolean
  /** All values share one counter, spelled as this pattern (`share_threshold`). */
  readonly sharedAs: string | undefined
  readonly detailedMetric: boolean
  readonly valueToMetric: boolean
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/** A Cost is how much a hit weighs: always the same, or by the value of an entry. */
export type Cost =
  | number
  | { readonly by: string; readonly weights: ReadonlyMap<string, number>; readonly otherwise: number }

/** A RuleResponse is what a refused caller gets instead of the usual answer. */
export interface RuleResponse {
  readonly status: number
  readonly body: string | undefined
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** A RuleNode is one level of the pattern tree: the rules that apply here, and where the next entry leads. */
export interface RuleNode {
  readonly rules: readonly Rule[]
  /** By the entry's key. Maps, because a caller may name an entry `__proto__`. */
  readonly branches: ReadonlyMap<string, Branch>
  /** For a tiered pattern: what stands here instead, by the caller's tier. */
  readonly tiers: ReadonlyMap<string, RuleNode> | undefined
  /** The id of the pattern, for rules that are made for one caller. */
  readonly id: string
  readonly path: readonly PathStep[]
}

/** A Branch leads from an entry's key to the next level: by exact value, address block, wildcard, or any value. */
export interface Branch {
  readonly exact: ReadonlyMap<string, RuleNode>
  readonly blocks: CidrIndex<RuleNode> | undefined
  readonly wildcards: WildcardIndex<RuleNode> | undefined
  readonly any: RuleNode | undefined
}

/** A Domain is the rules of one name space. */
export interface Domain {
  readonly name: string
  readonly root: RuleNode
  /** Rules on the way down apply too. */
  readonly evaluatePath: boolean
  /** True where a descriptor's `tier` entry picks a set of limits, instead of being matched. */
  readonly hasTiers: boolean
  /** Keys that some level marks as secret: where no pattern says how a value is spelled, these are spelled so. */
  readonly secretKeys: ReadonlySet<string>
  readonly version: string | undefined
}

/** A RuleSet is all rules of all domains, compiled once and frozen. */
export interface RuleSet {
  readonly domains: ReadonlyMap<string, Domain>
  readonly ruleCount: number
}
