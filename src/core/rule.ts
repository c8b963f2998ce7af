import type { Limit } from './limit.ts'

/** One limit attached to a descriptor pattern. */
export interface Rule {
  /** Stable across reloads: the pattern's path, and the position where a pattern has several limits. */
  readonly id: string
  /** What callers see: the author's `name`, or the id. */
  readonly name: string
  /** The author of a rule file gave it its name. */
  readonly isNamed: boolean
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
  readonly consistency: 'exact' | 'leased' | 'eventual' | 'sampled'
  readonly syncIntervalMs: number
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  /** open: how long an outage is admitted before the rule counts in the process; 0 is without end. */
  readonly openForMs: number
  readonly localShare: number
  /** How long the store may take. Undefined: the timeout of the store. */
  readonly timeoutMs: number | undefined
  /** 0 is never shed, 3 is shed first. Undefined: the rule says nothing about it. */
  readonly priority: number | undefined
  readonly response: RuleResponse | undefined
  readonly retryAfterJitterMs: number
  /** Quota that is billed pays for the requests that the limit admits. */
  readonly ledger: RuleLedger | undefined
  /** How the entries of the pattern are encoded, position by position. Its length is the rule's depth. */
  readonly path: readonly PathStep[]
}

/** One level of a rule's pattern. */
export interface PathStep {
  /** The pattern leaves the value open: it is the caller's, not the rule's. */
  readonly isOpen: boolean
  /** What open values match, where that is not just anything: a pattern with `*`, or address blocks. */
  readonly wildcard: string | undefined
  /** Values are encoded as a keyed hash. */
  readonly secret: boolean
  /** All values share one counter, encoded as this pattern (`share_threshold`). */
  readonly sharedAs: string | undefined
  readonly detailedMetric: boolean
  readonly valueToMetric: boolean
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/** How much a hit weighs: always the same, or by the value of an entry. */
export type Cost =
  | number
  | { readonly by: string; readonly weights: ReadonlyMap<string, number>; readonly otherwise: number }

/** What a request takes of the ledger. */
export interface RuleLedger {
  readonly meter: string
  /** `cost`: what the request weighs. `settled`: what it turns out to have cost. A number: always that. */
  readonly amount: 'cost' | 'settled' | number
}

/** What a refused caller gets instead of the usual answer. */
export interface RuleResponse {
  readonly status: number
  readonly body: string | undefined
  readonly headers: readonly (readonly [name: string, value: string])[]
}
