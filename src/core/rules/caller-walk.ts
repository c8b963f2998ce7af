import type { Entry } from '../request.ts'
import type { Account, AccountLookup, OwnLimit, RuleSourceNote, TierLookup } from './account.ts'
import { type CallerPlace, ownRules, type StandIn } from './own-rules.ts'
import { followsCustomer, ruleInZone } from './rule-in-zone.ts'
import type { Domain, Rule, RuleNode } from './rule-set.ts'
import { stepInto } from './step-into.ts'

/** The tier that was taken at a pattern, and the position of the entry that led there. */
export interface ChosenTier {
  readonly pattern: RuleNode
  readonly tier: string | undefined
  readonly at: number
}

/** Filled by a walk for people who ask why. */
export interface Trace {
  /** Where each rule that applies has its numbers from; one that is not in here has its own. */
  readonly sources: Map<Rule, RuleSourceNote>
  /** By the position of an entry: where it led in the set of the caller's tier. */
  readonly sets: (RuleNode | undefined)[]
  /** The last that was chosen. */
  chosen: ChosenTier | undefined
}

export interface CallerWalkInput {
  readonly domain: Domain
  readonly entries: readonly Entry[]
  /** The tier that the request names. */
  readonly tier: string | undefined
  readonly lookup: AccountLookup | undefined
  readonly tiers: TierLookup | undefined
  /** For explain alone. */
  readonly trace: Trace | undefined
}

/** A place where an entry led to an account, and the account. */
interface Caller extends CallerPlace {
  readonly account: Account
  readonly outer: Caller | undefined
}

const NO_RULES: readonly Rule[] = []
const NOWHERE = -1

/**
 * Matches the rest of a descriptor from the first entry on that leads to an account or to a tier. Walks down the
 * pattern and the rules of the caller's tier in parallel. On each level the individual limits of the nearest caller
 * come first, then the limits of callers before it, then the tier; where none of them has a limit, the pattern's rules
 * apply.
 *
 * At and below `tiered: true` an account and a tier may set anything. Elsewhere they change existing limits: they add
 * one only where they name the level and its domain, and leave alone what `isApart` covers unless they name it.
 */
export class CallerWalk {
  readonly #input: CallerWalkInput
  #caller: Caller | undefined
  #pattern: RuleNode | undefined
  #set: RuleNode | undefined
  /** The last pattern on the way was one that nothing changes. */
  #isFixed = false
  /** The positions of the entries that led to `tiered: true`, and to where the set begins. */
  #tieredAt = NOWHERE
  #setAt = NOWHERE

  constructor(input: CallerWalkInput) {
    this.#input = input
  }

  /** Walks on from a pattern, given the position of the entry that led to it and what is known of that entry. */
  from(pattern: RuleNode, at: number, account: Account | undefined): readonly Rule[] {
    this.#pattern = pattern
    this.#enter(at, account)
    let found = NO_RULES
    for (let i = at; ; i++) {
      const isLast = i === this.#input.entries.length - 1
      if (isLast || this.#input.domain.evaluatePath) {
        const rules = this.#rulesAt(i)
        if (rules.length > 0) found = found.length === 0 ? rules : [...found, ...rules]
      }
      if (isLast || !this.#stepTo(i + 1)) return found
    }
  }

  /** Takes the next entry. It returns false where nothing can be said about that any more. */
  #stepTo(at: number): boolean {
    const entry = this.#input.entries[at]
    this.#pattern &&= stepInto(this.#pattern, entry)
    this.#set &&= stepInto(this.#set, entry)
    if (this.#pattern === undefined && this.#set === undefined) return this.#caller !== undefined
    this.#enter(at, this.#input.lookup?.(this.#input.domain.name, entry))
    return true
  }

  #enter(at: number, account: Account | undefined): void {
    const pattern = this.#pattern
    if (account !== undefined) {
      this.#caller = { account, at, node: (pattern ?? this.#set) as RuleNode, outer: this.#caller }
    }
    if (pattern !== undefined) {
      this.#isFixed = pattern.isFixed
      const isTiered = pattern.tiers !== undefined
      // A trace alone begins at a pattern with tiers before anyone is known who has one: what is decided begins later.
      if (isTiered && (this.#caller !== undefined || this.#input.tier !== undefined)) this.#tieredAt = at
      if (isTiered || (account !== undefined && this.#setAt === NOWHERE && !this.#isFixed)) this.#choose(pattern, at)
    }
    const { trace } = this.#input
    if (trace !== undefined) trace.sets[at] = this.#set
  }

  /** Has the set of the caller's tier begin at a pattern. */
  #choose(pattern: RuleNode, at: number): void {
    const { domain, tiers, trace } = this.#input
    const tier = this.#input.tier ?? this.#caller?.account.tier
    this.#set = tierOf(domain, pattern, tier, tiers)
    if (this.#set !== undefined) this.#setAt = at
    if (trace !== undefined && (this.#set !== undefined || pattern.tiers !== undefined))
      trace.chosen = { pattern, tier, at }
  }

  #rulesAt(at: number): readonly Rule[] {
    const pattern = this.#pattern
    if (this.#isFixed) return this.#inZone(pattern?.rules ?? NO_RULES)
    const set = this.#setFor(at)
    const given = pattern?.rules ?? NO_RULES
    const found = set === undefined ? given : this.#isTiered ? set.rules : withApart(set.rules, given)
    if (set !== undefined && this.#input.trace !== undefined) this.#note(set)
    const rules = this.#inZone(found)
    if (this.#caller === undefined || set?.isFixed === true) return rules
    return this.#ownAt(at, rules, set ?? pattern) ?? rules
  }

  /** Returns rules as they are in the time zone of the nearest caller. */
  #inZone(rules: readonly Rule[]): readonly Rule[] {
    const timeZone = this.#caller?.account.timeZone
    if (timeZone === undefined || !rules.some(followsCustomer)) return rules
    return rules.map((rule) => {
      const zoned = ruleInZone(rule, timeZone)
      const source = this.#input.trace?.sources.get(rule)
      if (source !== undefined) this.#input.trace?.sources.set(zoned, source)
      return zoned
    })
  }

  /** Returns the tier's node for a level, where it says something there. */
  #setFor(at: number): RuleNode | undefined {
    const set = this.#set
    if (set === undefined || set.rules.length === 0) return undefined
    const isFilled = this.#pattern !== undefined && this.#pattern.rules.length > 0
    return this.#isTiered || isFilled || at > this.#setAt ? set : undefined
  }

  get #isTiered(): boolean {
    return this.#tieredAt !== NOWHERE
  }

  /** Returns the rules of a level with the callers' own limits; undefined where they have none there. */
  #ownAt(at: number, rules: readonly Rule[], node: RuleNode | undefined): readonly Rule[] | undefined {
    let owns: (OwnLimit | undefined)[] | undefined
    for (let caller = this.#caller; caller !== undefined; caller = caller.outer) {
      if (!caller.account.hasLimits) continue
      const path = this.#textBelow(caller.at, at)
      for (let i = 0; i === 0 || i < rules.length; i++) {
        if (owns?.[i] !== undefined) continue
        const own = caller.account.ownLimit(this.#input.domain.name, path, rules, i)
        if (own === undefined || !this.#mayStand(own, at, path, rules[i])) continue
        owns ??= []
        owns[i] = own
      }
    }
    return owns && this.#made(at, rules, node, owns)
  }

  /** Returns whether an own limit may stand in for a rule, or be added where there is none. */
  #mayStand(own: OwnLimit, at: number, path: string, rule: Rule | undefined): boolean {
    const isNamed = own.namesRule || path !== ''
    if (rule !== undefined) return this.#isTiered || isNamed || !isApart(rule)
    return this.#isTiered ? path !== '' || this.#tieredAt === at : path !== '' && own.mayAdd
  }

  #made(
    at: number,
    rules: readonly Rule[],
    node: RuleNode | undefined,
    owns: readonly (OwnLimit | undefined)[],
  ): readonly Rule[] {
    const { domain, entries, trace } = this.#input
    const standIns: StandIn[] = []
    for (let i = 0; i === 0 || i < rules.length; i++) standIns.push(standInOf(owns, i))
    const made = ownRules({ standIns, rules, domain, entries, at, node, caller: this.#caller as Caller })
    if (trace !== undefined) this.#noteOwn(made, standIns, owns)
    return made
  }

  #textBelow(from: number, to: number): string {
    let text = ''
    for (let i = from + 1; i <= to; i++) {
      const { key, value } = this.#input.entries[i]
      text += i === from + 1 ? `${key}=${value}` : `/${key}=${value}`
    }
    return text
  }

  #note({ rules }: RuleNode): void {
    const { chosen, sources } = this.#input.trace as Trace
    if (chosen?.tier === undefined) return
    const { pattern, tier: name } = chosen
    const isStored = this.#input.tiers?.(this.#input.domain, pattern, name) !== undefined
    for (const rule of rules) sources.set(rule, { kind: 'tier', name, isStored })
  }

  #noteOwn(made: readonly Rule[], standIns: readonly StandIn[], owns: readonly (OwnLimit | undefined)[]): void {
    const left = [...owns].filter((_, i) => standIns[i] !== 'dropped')
    made.forEach((rule, i) => {
      const own = left[i]
      if (own !== undefined)
        this.#input.trace?.sources.set(rule, { kind: 'account', id: own.id, text: this.#textOf(own) })
    })
  }

  #textOf(own: OwnLimit): string | undefined {
    for (let caller = this.#caller; caller !== undefined; caller = caller.outer) {
      const text = caller.account.sourceOf?.(own)
      if (text !== undefined) return text
    }
    return undefined
  }
}

/** Returns what a tier says in place of a pattern. */
export function tierOf(
  domain: Domain,
  pattern: RuleNode,
  name: string | undefined,
  tiers: TierLookup | undefined,
): RuleNode | undefined {
  if (name === undefined) return undefined
  return tiers?.(domain, pattern, name) ?? pattern.tiers?.get(name)
}

/**
 * Whether a rule is changed only by what names it: a limit of 0, with which the author of the rules bans callers, and
 * concurrency limits, whose permits do not scale like hits in a window.
 */
export function isApart({ limit, unlimited }: Rule): boolean {
  return (limit.max === 0 && !unlimited) || limit.algorithmRecord.holdsPermits
}

/** Returns the rules of a tier, and the pattern's rules that a tier does not change. */
function withApart(rules: readonly Rule[], given: readonly Rule[]): readonly Rule[] {
  return given.some(isApart) ? [...rules, ...given.filter(isApart)] : rules
}

/**
 * Returns what becomes of a rule: one limit for a whole level stands in for the first of its rules, and counts once.
 */
function standInOf(owns: readonly (OwnLimit | undefined)[], i: number): StandIn {
  const own = owns[i]
  if (own === undefined) return 'kept'
  const isFirst = owns.findIndex((each) => each?.id === own.id) === i
  return own.namesRule || isFirst ? own.limit : 'dropped'
}
