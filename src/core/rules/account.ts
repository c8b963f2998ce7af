import type { Limit } from '../limit.ts'
import type { Entry } from '../request.ts'
import type { Domain, Rule, RuleNode } from './rule-set.ts'

/** What is known about one caller: its tier and its individual limits. */
export interface Account {
  readonly tier: string | undefined
  /** In which calendar windows are counted whose rule says so. Default: that of the rule. */
  readonly timeZone?: string | undefined
  /** False: ownLimit finds nothing, whatever it is asked. */
  readonly hasLimits: boolean
  /**
   * Returns what stands in for `rules[at]`, one of the rules of a level. `path` is what stands below the caller's
   * entry: '' for the entry itself, `endpoint=POST /orders` for a level below. A level without rules is asked about
   * with none.
   */
  ownLimit(domain: string, path: string, rules: readonly Rule[], at: number): OwnLimit | undefined
  /** Says, for people, where an own limit comes from. */
  sourceOf?(own: OwnLimit): string | undefined
}

/** A limit of one caller. One that stands in for all rules of a level has the same id for each of them. */
export interface OwnLimit {
  /** The id of the record that says it. */
  readonly id: string
  readonly limit: Limit
  /** It names the rule that it is for, and leaves the others of the level as they are. */
  readonly namesRule: boolean
  /** It names its domain, so it may add a limit on a level where the domain has no rule. */
  readonly mayAdd: boolean
}

/** Finds the account behind an entry that says who is calling, such as an API key. It answers from memory. */
export type AccountLookup = (domain: string, entry: Entry) => Account | undefined

/** Finds a tier that stands in place of the one in the rules, or is not in the rules. It answers from memory. */
export type TierLookup = (domain: Domain, pattern: RuleNode, name: string) => RuleNode | undefined

/** A RuleSourceNote says where the numbers of a rule come from. */
export type RuleSourceNote =
  /** The caller's own, such as an override, with the id of its record. */
  | { readonly kind: 'account'; readonly id: string; readonly text: string | undefined }
  /** A tier of the rules, or one that stands in its place. */
  | { readonly kind: 'tier'; readonly name: string; readonly isStored: boolean }
  | { readonly kind: 'rule' }
