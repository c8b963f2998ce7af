import type { Entry } from '../request.ts'
import { type Account, type AccountLookup, match, stepInto, type TierLookup, tierOf } from './match.ts'
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

/** A RuleSourceNote says where the numbers of a rule come from. */
export type RuleSourceNote =
  /** The caller's own, such as an override. */
  | { readonly kind: 'account'; readonly text: string }
  /** A tier of the rules, or one that stands in its place. */
  | { readonly kind: 'tier'; readonly name: string; readonly isStored: boolean }
  | { readonly kind: 'rule' }

/** An Explanation is the way of one descriptor through the rules. */
export interface Explanation {
  readonly steps: readonly ExplainedStep[]
  /** In the order in which they are listed in a decision. */
  readonly rules: readonly Rule[]
  /** Where each of them has its numbers from. */
  readonly sources: readonly RuleSourceNote[]
  /** Below a tiered pattern: all tiers, in file order, and none at the end. */
  readonly tiers: readonly TierChoice[]
  /** Where the descriptor ends deeper than any rule, or not deep enough, this says so. */
  readonly note: string | undefined
}

/** explain retraces match, and says at each entry which kind of pattern it matched, and which it passed over. */
export function explain(
  domain: Domain,
  entries: readonly Entry[],
  tier?: string,
  lookup?: AccountLookup,
  stored?: TierLookup,
): Explanation {
  const steps: ExplainedStep[] = []
  let hasLimitAbove = false
  let node: RuleNode | undefined = domain.root
  let set: RuleNode | undefined
  let tiered: TieredCaller | undefined
  for (const [at, entry] of entries.entries()) {
    const next: RuleNode | undefined = node && stepInto(node, entry)
    const inSet: RuleNode | undefined = set && stepInto(set, entry)
    // What the caller's tier says about an entry goes before what the pattern says.
    steps.push(inSet === undefined ? stepOf(domain, node, entry, next) : stepOf(domain, set, entry, inSet))
    set = inSet
    if (next?.tiers !== undefined) {
      const account = lookup?.(domain.name, entry)
      tiered = { node: next, at, account, tier: tier ?? account?.tier }
      set = tierOf(domain, next, tiered.tier, stored)
    }
    node = next
    hasLimitAbove ||= [node, set].some((each) => each !== undefined && each.rules.length > 0)
  }
  const rules = match(domain, entries, tier, lookup, stored)
  return {
    steps,
    rules,
    sources: rules.map((rule) => sourceOf(rule, domain, entries, tiered, stored)),
    tiers: tiered === undefined ? [] : tierChoices(domain, entries, tiered.node, tiered.tier, stored),
    note: rules.length > 0 ? undefined : noteOf(set ?? node, hasLimitAbove && !domain.evaluatePath),
  }
}

/** A TieredCaller is a tiered pattern that was come to, and what is known of the caller there. */
interface TieredCaller {
  readonly node: RuleNode
  /** The position of the entry that led to it. */
  readonly at: number
  readonly account: Account | undefined
  readonly tier: string | undefined
}

const OF_THE_RULE: RuleSourceNote = Object.freeze({ kind: 'rule' })

/** sourceOf retraces where a rule that applies has its numbers from. */
function sourceOf(
  rule: Rule,
  domain: Domain,
  entries: readonly Entry[],
  tiered: TieredCaller | undefined,
  stored: TierLookup | undefined,
): RuleSourceNote {
  const depth = rule.path.length
  if (tiered === undefined || depth <= tiered.at) return OF_THE_RULE
  const { node, at, account, tier } = tiered
  const rest = entries.slice(at + 1, depth)
  const path = rest.map(({ key, value }) => `${key}=${value}`).join('/')
  const own = account?.limitsFor(path) === undefined ? undefined : account.sourceOf?.(path)
  if (own !== undefined) return { kind: 'account', text: own }
  let set = tierOf(domain, node, tier, stored)
  for (const entry of rest) set = set && stepInto(set, entry)
  if (tier === undefined || set === undefined || !set.rules.includes(rule)) return OF_THE_RULE
  return { kind: 'tier', name: tier, isStored: stored?.(domain, node, tier) !== undefined }
}

/** sourceText spells a source for people. `locate` names where a tier stands in the rule files. */
export function sourceText(source: RuleSourceNote, locate?: (tier: string) => string | undefined): string {
  if (source.kind === 'account') return source.text
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
  stored: TierLookup | undefined,
): readonly TierChoice[] {
  const known = [...(tiered.tiers?.keys() ?? [])]
  const isNew = taken !== undefined && !known.includes(taken) && stored?.(domain, tiered, taken) !== undefined
  const names = isNew ? [...known, taken] : known
  const without = match(domain, entries)
  const choices = names.map((tier): TierChoice => {
    const rules = match(domain, entries, tier, undefined, stored)
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
