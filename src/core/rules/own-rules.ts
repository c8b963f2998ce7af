import type { Limit } from '../limit.ts'
import type { Entry } from '../request.ts'
import { TwoGenerations } from '../two-generations.ts'
import { DEFAULTS } from './compile-rule.ts'
import { limitId } from './compile-tree.ts'
import type { Domain, PathStep, Rule, RuleNode } from './rule-set.ts'

/** An OwnLimits is limits of one caller's own, and where they apply. */
export interface OwnLimits {
  readonly limits: readonly Limit[]
  readonly domain: Domain
  /** The tiered pattern, and the entry that led to it: the caller. */
  readonly tiered: RuleNode
  readonly caller: Entry
  /** The entries below the tiered pattern, and the same as text. */
  readonly rest: readonly Entry[]
  readonly restText: string
  /** The node whose rules these limits stand in for, if there is one. */
  readonly instead: RuleNode | undefined
}

/** Known is what rules were made of, and the rules. */
interface Known extends Pick<OwnLimits, 'limits' | 'rest' | 'restText'> {
  readonly rules: readonly Rule[]
}

/** How many callers at least have their rules kept for a node. A rule weighs about half a kilobyte. */
const CALLERS = 16_384

/** By the node that a caller's rules stand in for. Nodes go with their set of rules, and the rules made for them too. */
const known = new WeakMap<RuleNode, TwoGenerations<string, Known>>()

/**
 * ownRules returns the rules that a caller has of its own. They count on the same counters as those they stand in for.
 * They are made once: a caller whose limits are equal to those of its last request gets the same rules, so that whatever
 * is kept for a rule or a limit is found again.
 */
export function ownRules(own: OwnLimits): readonly Rule[] {
  const node = own.instead ?? own.tiered
  let callers = known.get(node)
  if (callers === undefined) {
    callers = new TwoGenerations(CALLERS)
    known.set(node, callers)
  }
  const { limits, rest, restText, caller } = own
  const key = restText === '' ? caller.value : `${caller.value}/${restText}`
  const before = callers.get(key)
  if (before !== undefined && isSamePlace(before, own) && areEqual(before.limits, limits)) return before.rules
  const rules = compile(own)
  callers.set(key, { limits, rest, restText, rules })
  return rules
}

function compile({ limits, domain, tiered, rest, instead }: OwnLimits): readonly Rule[] {
  const id = instead?.id ?? [tiered.id, ...rest.map(({ key, value }) => `${key}=${value}`)].join('/')
  const path = instead?.path ?? [...tiered.path, ...rest.map((entry) => stepWithoutPattern(domain, entry))]
  const rules = limits.map((limit, i): Rule => {
    const ruleId = limitId(id, i)
    const base = instead?.rules[i] ?? { ...DEFAULTS, name: ruleId }
    return Object.freeze({ ...base, id: ruleId, limit, unlimited: false, path })
  })
  return Object.freeze(rules)
}

/** isSamePlace compares keys as well: one value can be spelled like several entries, but not like their keys. */
function isSamePlace(a: Pick<OwnLimits, 'rest' | 'restText'>, b: Pick<OwnLimits, 'rest' | 'restText'>): boolean {
  if (a.restText !== b.restText || a.rest.length !== b.rest.length) return false
  for (let i = 0; i < a.rest.length; i++) if (a.rest[i].key !== b.rest[i].key) return false
  return true
}

/** areEqual compares limits: those of an account may be compiled anew for each request. */
function areEqual(a: readonly Limit[], b: readonly Limit[]): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && !isEqual(a[i], b[i])) return false
  return true
}

/** isEqual compares what tells limits apart: the shape spells everything but the numbers, and the pace follows from both. */
function isEqual(a: Limit, b: Limit): boolean {
  return a.max === b.max && a.capacity === b.capacity && a.countDenied === b.countDenied && a.shape === b.shape
}

const PLAIN: PathStep = Object.freeze({
  isOpen: true,
  wildcard: undefined,
  secret: false,
  sharedAs: undefined,
  detailedMetric: false,
  valueToMetric: false,
  metadata: undefined,
})
const SECRET: PathStep = Object.freeze({ ...PLAIN, secret: true })

/** stepWithoutPattern says how to spell an entry that a limit counts although no pattern of the rules mentions it. */
export function stepWithoutPattern(domain: Domain, { key }: Entry): PathStep {
  return domain.secretKeys.has(key) ? SECRET : PLAIN
}
