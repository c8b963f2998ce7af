import type { Limit } from '../limit.ts'
import type { Entry } from '../request.ts'
import { TwoGenerations } from '../two-generations.ts'
import { DEFAULTS } from './rule-defaults.ts'
import type { Domain, PathStep, Rule, RuleNode } from './rule-set.ts'

/** What becomes of a rule: a limit in its place, the rule itself, or nothing, where another limit is for both. */
export type StandIn = Limit | 'kept' | 'dropped'

/** Where an entry that leads to an account stands, and the one before it in the descriptor. */
export interface CallerPlace {
  /** The position of the entry, and the pattern that it led to. */
  readonly at: number
  readonly node: RuleNode
  readonly outer: CallerPlace | undefined
}

/** A level of a descriptor where a caller has its own limits. */
export interface OwnLevel {
  /** What becomes of each rule. Where there is no rule, the first is the limit. */
  readonly standIns: readonly StandIn[]
  readonly rules: readonly Rule[]
  readonly domain: Domain
  readonly entries: readonly Entry[]
  /** The position of the level's entry, and the node that it led to. */
  readonly at: number
  readonly node: RuleNode | undefined
  /** The caller nearest to it. */
  readonly caller: CallerPlace
}

/** What rules were made of, and the rules. */
interface Known {
  readonly standIns: readonly StandIn[]
  readonly given: readonly Rule[]
  /** The keys of the entries, from the first caller on. */
  readonly keys: readonly string[]
  readonly rules: readonly Rule[]
}

/** How many callers at least have their rules kept for a node. A rule weighs about half a kilobyte. */
const CALLERS = 16_384

/**
 * By the node that a caller's rules stand in for. Nodes go with their set of rules, and the rules made for them too.
 */
const known = new WeakMap<RuleNode, TwoGenerations<string, Known>>()

/**
 * Returns the rules of a level where a caller has individual limits. They count on the same counters as the rules they
 * replace; where callers share a counter (`share_threshold`), on a separate counter of the caller. Rules are made once:
 * a caller whose limits equal those of its last request gets the same rules, so that whatever is kept per rule or limit
 * is found again.
 */
export function ownRules(own: OwnLevel): readonly Rule[] {
  const node = own.node ?? own.caller.node
  let callers = known.get(node)
  if (callers === undefined) {
    callers = new TwoGenerations(CALLERS)
    known.set(node, callers)
  }
  const from = firstAt(own.caller)
  const key = textFrom(own, from)
  const before = callers.get(key)
  if (before !== undefined && isSame(before, own, from)) return before.rules
  const rules = compile(own)
  const keys = own.entries.slice(from, own.at + 1).map((entry) => entry.key)
  callers.set(key, { standIns: own.standIns, given: own.rules, keys, rules })
  return rules
}

function firstAt(caller: CallerPlace): number {
  return caller.outer === undefined ? caller.at : firstAt(caller.outer)
}

function textFrom({ entries, at }: OwnLevel, from: number): string {
  let text = entries[from].value
  for (let i = from + 1; i <= at; i++) text += `/${entries[i].key}=${entries[i].value}`
  return text
}

function compile(own: OwnLevel): readonly Rule[] {
  const { standIns, rules, caller } = own
  if (rules.length === 0) return Object.freeze([added(own, standIns[0] as Limit)])
  const made = rules.flatMap((rule, i): readonly Rule[] => {
    const standIn = standIns[i]
    if (standIn === 'dropped') return []
    if (standIn === 'kept') return [rule]
    return [Object.freeze({ ...rule, limit: standIn, unlimited: false, path: ownPath(rule.path, caller) })]
  })
  return Object.freeze(made)
}

/** Returns the rule of a level that has none. */
function added({ domain, entries, at, node, caller }: OwnLevel, limit: Limit): Rule {
  const rest = entries.slice(caller.at + 1, at + 1)
  const id = node?.id ?? [caller.node.id, ...rest.map(({ key, value }) => `${key}=${value}`)].join('/')
  const path = node?.path ?? [...caller.node.path, ...rest.map((entry) => stepWithoutPattern(domain, entry))]
  return Object.freeze({ ...DEFAULTS, id, name: id, limit, path: ownPath(path, caller) })
}

/** Replaces shared patterns by the caller's values, where a pattern has one counter for all callers. */
function ownPath(path: readonly PathStep[], caller: CallerPlace | undefined): readonly PathStep[] {
  if (caller === undefined) return path
  const { at, outer } = caller
  const step = path[at]
  if (step?.sharedAs === undefined) return ownPath(path, outer)
  return ownPath(path.with(at, Object.freeze({ ...step, isOpen: true, sharedAs: undefined })), outer)
}

/** Compares keys as well: one value can look like several entries, but its keys cannot. */
function isSame(before: Known, { standIns, rules, entries, at }: OwnLevel, from: number): boolean {
  const { keys, given } = before
  if (keys.length !== at + 1 - from || given.length !== rules.length) return false
  for (let i = 0; i < keys.length; i++) if (keys[i] !== entries[from + i].key) return false
  for (let i = 0; i < given.length; i++) if (given[i] !== rules[i]) return false
  return areEqual(before.standIns, standIns)
}

/** Compares limits by value: an account's limits may be compiled again for each request. */
function areEqual(a: readonly StandIn[], b: readonly StandIn[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i] && !isEqual(a[i], b[i])) return false
  return true
}

/** Compares what distinguishes limits: the shape covers everything but the numbers, and the pace follows from both. */
function isEqual(a: StandIn, b: StandIn): boolean {
  if (typeof a === 'string' || typeof b === 'string') return false
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

/** Describes how to encode an entry that a limit counts although no pattern of the rules mentions it. */
export function stepWithoutPattern(domain: Domain, { key }: Entry): PathStep {
  return domain.secretKeys.has(key) ? SECRET : PLAIN
}
