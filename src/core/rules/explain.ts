import type { Entry } from '../request.ts'
import { type AccountLookup, match, stepInto } from './match.ts'
import type { Branch, Domain, Rule, RuleNode } from './rule-set.ts'

/** A Candidate is a pattern that an entry matches, and by what. */
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

/** A TierChoice is what would apply to a caller of a tier. */
export interface TierChoice {
  /** Undefined: to a caller without one. */
  readonly tier: string | undefined
  readonly rules: readonly Rule[]
  readonly isTaken: boolean
  /** The tier says nothing about this descriptor: it is as for a caller without a tier. */
  readonly isSilent: boolean
}

/** An Explanation is the way of one descriptor through the rules. */
export interface Explanation {
  readonly steps: readonly ExplainedStep[]
  /** In the order in which they are listed in a decision. */
  readonly rules: readonly Rule[]
  /** Below a tiered pattern: all tiers, in file order, and none at the end. */
  readonly tiers: readonly TierChoice[]
  /** Where the descriptor ends deeper than any rule, or not deep enough, this says so. */
  readonly note: string | undefined
}

/** explain retraces match, and says at each entry which kind of pattern it matched, and which it passed over. */
export function explain(domain: Domain, entries: readonly Entry[], tier?: string, lookup?: AccountLookup): Explanation {
  const steps: ExplainedStep[] = []
  let hasLimitAbove = false
  let node: RuleNode | undefined = domain.root
  let set: RuleNode | undefined
  let tiered: { readonly node: RuleNode; readonly tier: string | undefined } | undefined
  for (const entry of entries) {
    const next: RuleNode | undefined = node && stepInto(node, entry)
    const inSet: RuleNode | undefined = set && stepInto(set, entry)
    // What the caller's tier says about an entry goes before what the pattern says.
    steps.push(inSet === undefined ? stepOf(domain, node, entry, next) : stepOf(domain, set, entry, inSet))
    set = inSet
    if (next?.tiers !== undefined) {
      tiered = { node: next, tier: tier ?? lookup?.(domain.name, entry)?.tier }
      set = next.tiers.get(tiered.tier ?? '')
    }
    node = next
    hasLimitAbove ||= [node, set].some((each) => each !== undefined && each.rules.length > 0)
  }
  const rules = match(domain, entries, tier, lookup)
  return {
    steps,
    rules,
    tiers: tiered === undefined ? [] : tierChoices(domain, entries, tiered.node, tiered.tier),
    note: rules.length > 0 ? undefined : noteOf(set ?? node, hasLimitAbove && !domain.evaluatePath),
  }
}

function stepOf(domain: Domain, from: RuleNode | undefined, entry: Entry, to: RuleNode | undefined): ExplainedStep {
  const secret = to?.path.at(-1)?.secret ?? domain.secretKeys.has(entry.key)
  const candidates = from === undefined ? [] : candidatesOf(from, entry)
  if (candidates.length > 0) return { entry, ...candidates[0], secret, passedOver: candidates.slice(1), known: [] }
  const known = from === undefined ? [] : knownIn(from, entry)
  return { entry, how: 'no match', pattern: undefined, secret, passedOver: [], known }
}

/** candidatesOf lists all patterns that an entry matches, in the order in which they are taken. */
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

/** knownIn lists the patterns of the entry's key, or of all keys where the level does not have it. */
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

/** stepOfId returns the last step of a pattern's path. */
function stepOfId({ id }: RuleNode, parent: RuleNode): string {
  return parent.id === '' ? id : id.slice(parent.id.length + 1)
}

function tierChoices(
  domain: Domain,
  entries: readonly Entry[],
  tiered: RuleNode,
  taken: string | undefined,
): readonly TierChoice[] {
  const names = [...(tiered.tiers?.keys() ?? [])]
  const without = match(domain, entries)
  const choices = names.map((tier): TierChoice => {
    const rules = match(domain, entries, tier)
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
