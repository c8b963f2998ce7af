import type { Entry } from '../request.ts'
import type { Account, AccountLookup, TierLookup } from './account.ts'
import { tierOf } from './caller-walk.ts'
import { exampleValues } from './example-values.ts'
import { type SourcedRule, sourcedMatch } from './explain.ts'
import type { Domain, RuleNode } from './rule-set.ts'
import { stepInto } from './step-into.ts'

/** The entry that identifies a caller, and what is known of the caller before and after a change. */
export interface ReachingCaller {
  /** Undefined: not known, as of an API key that is kept as a hash. */
  readonly value: string | undefined
  /** Says whether a value that the rules name is the caller's, where the value is not known. Default: none is. */
  readonly isValue?: (value: string) => boolean
  readonly before: Account | undefined
  readonly after: Account | undefined
}

export interface ReachedInput {
  readonly domain: Domain
  /** By the key of the entry, such as `customer` and `api_key`. */
  readonly callers: ReadonlyMap<string, ReachingCaller>
  /** The tier that requests name: rules at and below `tiered: true` are also reached, for every caller. */
  readonly tier?: string
  /** The tiers that replace the rules' tiers. */
  readonly tiersBefore: TierLookup | undefined
  readonly tiersAfter: TierLookup | undefined
  /** What records name below a caller's entry, and rules may not. */
  readonly paths?: readonly (readonly Entry[])[]
  /** Default: MAX_PLACES. */
  readonly maxPlaces?: number
}

/** A rule that requests of a caller can reach. */
export interface ReachedRule {
  readonly domain: string
  /** The id of the rule, and its name after the change. */
  readonly id: string
  readonly name: string
  /** The entries of such a request. Where a pattern leaves a value open, that is an example. */
  readonly entries: readonly Entry[]
  /**
   * All values are the caller's or named by a pattern, a tier or a record: this is one counter, and not one of many.
   */
  readonly isExact: boolean
  /** The position of the nearest entry that says who is calling, or else of the entry that leads to `tiered: true`. */
  readonly callerAt: number
  /** What applies to such a request. Undefined: no rule of this id. */
  readonly before: SourcedRule | undefined
  readonly after: SourcedRule | undefined
}

/** The rules that a caller reaches. */
export interface ReachedRules {
  readonly rules: readonly ReachedRule[]
  /** False: there are more places than were looked at. */
  readonly isComplete: boolean
  /** How many places were looked at. */
  readonly places: number
}

/** More places than anyone reads. A place costs about 10 µs. */
export const MAX_PLACES = 5_000

/**
 * Lists every rule of a domain that an entry of a caller leads to, and the rule that decides before and after a change
 * of what is known of the caller. It calls `match` itself with a request for each pattern, so its answer is what is
 * decided. Before and after may be the same, to list what applies now.
 */
export function reachedRules(input: ReachedInput): ReachedRules {
  return new PlaceWalk(input).run()
}

/** A way into the rules: entries, and the nodes of the pattern and of tiers that they lead to. */
interface LevelPlace {
  readonly entries: readonly Entry[]
  readonly pattern: RuleNode | undefined
  readonly sets: readonly RuleNode[]
  readonly callerAt: number
  readonly isExact: boolean
}

const NOWHERE = -1

class PlaceWalk {
  readonly #input: ReachedInput
  readonly #maxPlaces: number
  readonly #rules: ReachedRule[] = []
  /** Of the entries that say who is calling. */
  readonly #callers = new Map<Entry, ReachingCaller>()
  readonly #seen = new Set<string>()
  readonly #leads = new Map<RuleNode, boolean>()
  #isComplete = true

  constructor(input: ReachedInput) {
    this.#input = input
    this.#maxPlaces = input.maxPlaces ?? MAX_PLACES
  }

  run(): ReachedRules {
    const { root } = this.#input.domain
    this.#below({ entries: [], pattern: root, sets: [], callerAt: NOWHERE, isExact: true })
    return { rules: this.#rules, isComplete: this.#isComplete, places: this.#seen.size }
  }

  #below(place: LevelPlace): void {
    const nodes = place.pattern === undefined ? place.sets : [place.pattern, ...place.sets]
    for (const key of new Set(nodes.flatMap(({ branches }) => [...branches.keys()]))) {
      if (key === 'tier' && this.#input.domain.hasTiers) continue
      const known = new Set<string>()
      for (const value of this.#valuesOf(key, nodes)) {
        if (!this.#isComplete) return
        if (!known.has(value)) this.#step(place, key, value)
        known.add(value)
      }
    }
  }

  /** Lists the values of an entry that a level distinguishes. */
  #valuesOf(key: string, nodes: readonly RuleNode[]): readonly string[] {
    const caller = this.#input.callers.get(key)
    if (caller?.value !== undefined) return [caller.value]
    const branches = nodes.flatMap((node) => node.branches.get(key) ?? [])
    const values = branches.flatMap(exampleValues)
    if (caller === undefined) return values
    const named = values.filter((value) => branches.some(({ exact }) => exact.has(value)))
    const own = named.filter((value) => caller.isValue?.(value) === true)
    return own.length > 0 ? own : values.filter((value) => !named.includes(value))
  }

  #step({ entries, pattern, sets, callerAt, isExact }: LevelPlace, key: string, value: string): void {
    const caller = this.#input.callers.get(key)
    const entry = { key, value }
    const next = pattern && stepInto(pattern, entry)
    const inSets = sets.flatMap((set) => stepInto(set, entry) ?? [])
    if (next === undefined && inSets.length === 0) return
    const isBelow = caller !== undefined || callerAt !== NOWHERE || this.#begins(next)
    if (!isBelow && !this.#leadsToCaller(next as RuleNode)) return
    if (caller !== undefined) this.#callers.set(entry, caller)
    const at = !isBelow || (caller === undefined && callerAt !== NOWHERE) ? callerAt : entries.length
    const isNamed = [pattern, ...sets].some((node) => node?.branches.get(key)?.exact.has(value) === true)
    const place: LevelPlace = {
      entries: [...entries, entry],
      pattern: next,
      sets: isBelow && next !== undefined ? [...inSets, ...this.#setsAt(next, [...entries, entry])] : inSets,
      callerAt: at,
      isExact: isExact && (caller === undefined ? isNamed : caller.value !== undefined || isNamed),
    }
    if (isBelow) this.#look(place)
    if (caller !== undefined) this.#lookAtPaths(place)
    this.#below(place)
  }

  /** Returns whether an entry of a caller stands anywhere below a node. */
  #leadsToCaller(node: RuleNode): boolean {
    const known = this.#leads.get(node)
    if (known !== undefined) return known
    const { callers } = this.#input
    const leads = [...node.branches].some(([key, { exact, blocks, wildcards, any }]) => {
      if (callers.has(key)) return true
      const nodes = [
        ...exact.values(),
        ...(blocks?.targets ?? []),
        ...(wildcards?.targets ?? []),
        ...(any ? [any] : []),
      ]
      return nodes.some((each) => this.#begins(each) || this.#leadsToCaller(each))
    })
    this.#leads.set(node, leads)
    return leads
  }

  /** Returns whether the tier that requests name changes limits from a pattern on. */
  #begins(pattern: RuleNode | undefined): boolean {
    return this.#input.tier !== undefined && pattern?.tiers !== undefined
  }

  /** Returns the sets of tiers that may begin at a pattern, for any caller on the way, before or after. */
  #setsAt(pattern: RuleNode, entries: readonly Entry[]): readonly RuleNode[] {
    const { domain, tier, tiersBefore, tiersAfter } = this.#input
    const callers = entries.flatMap((entry) => this.#callers.get(entry) ?? [])
    const named = [{ before: { tier }, after: { tier } }]
    const sets = [...named, ...callers].flatMap(({ before, after }) => [
      tierOf(domain, pattern, before?.tier, tiersBefore),
      tierOf(domain, pattern, after?.tier, tiersAfter),
    ])
    return [...new Set(sets.filter((set) => set !== undefined))]
  }

  #lookAtPaths(place: LevelPlace): void {
    for (const path of this.#input.paths ?? []) {
      if (path.length > 0) this.#look({ ...place, entries: [...place.entries, ...path.map(this.#named)] })
    }
  }

  /** Notes an entry that a record names, where it is one of a caller. */
  readonly #named = ({ key, value }: Entry): Entry => {
    const entry = { key, value }
    const caller = this.#input.callers.get(key)
    if (caller !== undefined && (caller.value === value || caller.isValue?.(value))) this.#callers.set(entry, caller)
    return entry
  }

  /** Asks for the rules of a place, before and after. */
  #look({ entries, callerAt, isExact }: LevelPlace): void {
    const text = JSON.stringify(entries.map(({ key, value }) => [key, value]))
    if (this.#seen.has(text)) return
    this.#seen.add(text)
    if (this.#seen.size > this.#maxPlaces) this.#isComplete = false
    if (!this.#isComplete) return
    const { tiersBefore, tiersAfter, domain } = this.#input
    const before = this.#rulesAt(entries, (caller) => caller.before, tiersBefore)
    const after = this.#rulesAt(entries, (caller) => caller.after, tiersAfter)
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(key), after.get(key)]
      const { id, name } = ((is ?? was) as SourcedRule).rule
      this.#rules.push({ domain: domain.name, id, name, entries, isExact, callerAt, before: was, after: is })
    }
  }

  /** Returns the rules that end at a place, by their id and how many of the same id stand before. */
  #rulesAt(
    entries: readonly Entry[],
    accountOf: (caller: ReachingCaller) => Account | undefined,
    tiers: TierLookup | undefined,
  ): ReadonlyMap<string, SourcedRule> {
    const lookup: AccountLookup = (_, entry) => {
      const caller = this.#callers.get(entry)
      return caller && accountOf(caller)
    }
    const found = new Map<string, SourcedRule>()
    for (const each of sourcedMatch(this.#input.domain, entries, this.#input.tier, lookup, tiers)) {
      if (each.rule.path.length !== entries.length) continue
      let key = each.rule.id
      while (found.has(key)) key += ' '
      found.set(key, each)
    }
    return found
  }
}
