import type { Entry } from '../request.ts'
import type { Account, AccountLookup, RuleSourceNote, TierLookup } from './account.ts'
import type { ChosenTier, Trace } from './caller-walk.ts'
import { match } from './match.ts'
import type { Branch, Domain, Rule, RuleNode } from './rule-set.ts'
import { stepInto } from './step-into.ts'

export type { RuleSourceNote } from './account.ts'

/** A pattern that an entry matches, and by what. */
export interface Candidate {
  readonly how: 'exact value' | 'address block' | 'wildcard' | 'any value'
  /** The pattern as a path. */
  readonly pattern: string
}

/** An ExplainedStep says where one entry led, and why. */
export interface ExplainedStep {
  readonly entry: Entry
  readonly how: Candidate['how'] | 'no match'
  /** The pattern that the entry led to, as a path. */
  readonly pattern: string | undefined
  /** The entry's value is not to be shown. */
  readonly secret: boolean
  /** Patterns of the same level that match too, but come later. */
  readonly passedOver: readonly Candidate[]
  /** Where nothing matches: what there is on this level. */
  readonly known: readonly string[]
}

/** What would apply to a caller of a tier. */
export interface TierChoice {
  /** Undefined: to a caller without one. */
  readonly tier: string | undefined
  readonly rules: readonly Rule[]
  readonly isTaken: boolean
  /** The tier says nothing about this descriptor: it is as for a caller without a tier. */
  readonly isSilent: boolean
}

/** The way of one descriptor through the rules. */
export interface Explanation {
  readonly steps: readonly ExplainedStep[]
  /** In the order in which they are listed in a decision. */
  readonly rules: readonly Rule[]
  /** Where each of them has its numbers from. */
  readonly sources: readonly RuleSourceNote[]
  /** Where a tier was chosen: all tiers, in file order, and none at the end. */
  readonly tiers: readonly TierChoice[]
  /** Where the descriptor ends deeper than any rule, or not deep enough, this says so. */
  readonly note: string | undefined
}

/** Retraces match, and says at each entry which kind of pattern it matched, and which it passed over. */
export function explain(
  domain: Domain,
  entries: readonly Entry[],
  tier?: string,
  lookup?: AccountLookup,
  stored?: TierLookup,
): Explanation {
  const trace = newTrace()
  const rules = match(domain, entries, tier, lookup, stored, trace)
  const steps: ExplainedStep[] = []
  let hasLimitAbove = false
  let node: RuleNode | undefined = domain.root
  let set: RuleNode | undefined
  for (const [at, entry] of entries.entries()) {
    const next: RuleNode | undefined = node && stepInto(node, entry)
    const inSet: RuleNode | undefined = set && stepInto(set, entry)
    // What the caller's tier says about an entry goes before what the pattern says.
    steps.push(inSet === undefined ? stepOf(domain, node, entry, next) : stepOf(domain, set, entry, inSet))
    node = next
    set = trace.sets[at]
    hasLimitAbove ||= [node, set].some((each) => each !== undefined && each.rules.length > 0)
  }
  const { chosen } = trace
  return {
    steps,
    rules,
    sources: sourcesOf(rules, trace),
    tiers: chosen === undefined ? [] : tierChoices(domain, entries, chosen, stored),
    note: rules.length > 0 ? undefined : noteOf(set ?? node, hasLimitAbove && !domain.evaluatePath),
  }
}

const OF_THE_RULE: RuleSourceNote = Object.freeze({ kind: 'rule' })

/** A rule that applies, and where it has its numbers from. */
export interface SourcedRule {
  readonly rule: Rule
  readonly source: RuleSourceNote
}

/** Like match, with the sources of the rules. */
export function sourcedMatch(
  domain: Domain,
  entries: readonly Entry[],
  tier: string | undefined,
  lookup: AccountLookup | undefined,
  stored: TierLookup | undefined,
): readonly SourcedRule[] {
  const trace = newTrace()
  const rules = match(domain, entries, tier, lookup, stored, trace)
  const sources = sourcesOf(rules, trace)
  return rules.map((rule, i) => ({ rule, source: sources[i] }))
}

const newTrace = (): Trace => ({ sources: new Map(), sets: [], chosen: undefined })

function sourcesOf(rules: readonly Rule[], { sources }: Trace): readonly RuleSourceNote[] {
  return rules.map((rule) => sources.get(rule) ?? OF_THE_RULE)
}

/** Describes a source for people. `locate` returns where a tier is defined in the rule files. */
export function sourceText(source: RuleSourceNote, locate?: (tier: string) => string | undefined): string {
  if (source.kind === 'account') return source.text ?? `own limit ${source.id}`
  if (source.kind === 'rule') return 'rule'
  const place = source.isStored ? 'database' : locate?.(source.name)
  return `tier ${source.name}${place === undefined ? '' : ` (${place})`}`
}

function stepOf(domain: Domain, from: RuleNode | undefined, entry: Entry, to: RuleNode | undefined): ExplainedStep {
  const secret = to?.path.at(-1)?.secret ?? domain.secretKeys.has(entry.key)
  const candidates = from === undefined ? [] : candidatesOf(from, entry)
  if (candidates.length > 0) return { entry, ...candidates[0], secret, passedOver: candidates.slice(1), known: [] }
  const known = from === undefined ? [] : knownIn(from, entry)
  return { entry, how: 'no match', pattern: undefined, secret, passedOver: [], known }
}

/** Lists all patterns that an entry matches, in the order in which they are taken. */
function candidatesOf(from: RuleNode, { key, value }: Entry): readonly Candidate[] {
  const branch = from.branches.get(key)
  if (branch === undefined) return []
  const as = (how: Candidate['how'], nodes: readonly (RuleNode | undefined)[]): Candidate[] =>
    nodes.filter((node) => node !== undefined).map((node) => ({ how, pattern: node.id }))
  return [
    ...as('exact value', [branch.exact.get(value)]),
    ...as('address block', branch.blocks?.findAll(value) ?? []),
    ...as('wildcard', branch.wildcards?.findAll(value) ?? []),
    ...as('any value', [branch.any]),
  ]
}

/** Lists the patterns of the entry's key, or of all keys where the level does not have it. */
function knownIn(node: RuleNode, { key }: Entry): readonly string[] {
  const branch = node.branches.get(key)
  const branches = branch === undefined ? [...node.branches.values()] : [branch]
  return [...new Set(branches.flatMap(nodesOf))].map((each) => stepOfId(each, node))
}

function nodesOf({ exact, blocks, wildcards, any }: Branch): readonly RuleNode[] {
  return [
    ...exact.values(),
    ...(blocks?.targets ?? []),
    ...(wildcards?.targets ?? []),
    ...(any === undefined ? [] : [any]),
  ]
}

/** Returns the last step of a pattern's path. */
function stepOfId({ id }: RuleNode, parent: RuleNode): string {
  return parent.id === '' ? id : id.slice(parent.id.length + 1)
}

function tierChoices(
  domain: Domain,
  entries: readonly Entry[],
  { pattern, tier: taken, at }: ChosenTier,
  stored: TierLookup | undefined,
): readonly TierChoice[] {
  const known = [...(pattern.tiers?.keys() ?? [])]
  const isNew = taken !== undefined && !known.includes(taken) && stored?.(domain, pattern, taken) !== undefined
  const names = isNew ? [...known, taken] : known
  const rulesOf = (tier: string | undefined): readonly Rule[] => {
    const caller: Account = { tier, hasLimits: false, ownLimit: () => undefined }
    return match(domain, entries, undefined, (_, entry) => (entry === entries[at] ? caller : undefined), stored)
  }
  const without = rulesOf(undefined)
  const choices = names.map((tier): TierChoice => {
    const rules = rulesOf(tier)
    const isSilent = rules.length === without.length && rules.every((rule, i) => rule === without[i])
    return { tier, rules, isTaken: tier === taken, isSilent }
  })
  const isNone = taken === undefined || !names.includes(taken)
  return [...choices, { tier: undefined, rules: without, isTaken: isNone, isSilent: false }]
}

function noteOf(last: RuleNode | undefined, isTooShallow: boolean): string {
  const hint = isTooShallow
    ? ' A limit applies where its depth is the number of entries: send the shorter descriptor as well, or set evaluate: path.'
    : ''
  if (last === undefined) return `No rule matches: the request is not limited.${hint}`
  return `The pattern is there, but has no limit at this depth: the request is not limited.${hint}`
}
