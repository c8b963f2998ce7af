import { type Decision, UNLIMITED } from '../core/combine.ts'
import { allowedVerdict, type Verdict } from '../core/decision.ts'
import { KeyedHash } from '../core/hash.ts'
import { KeyEncoder } from '../core/key-encoder.ts'
import type { LedgerHold } from '../core/ledger-note.ts'
import { compileLimit, MAX_COUNT } from '../core/limit.ts'
import type { CheckRequest, RequestContext } from '../core/request.ts'
import type { AccountLookup } from '../core/rules/match.ts'
import type { Domain, RuleSet } from '../core/rules/rule-set.ts'
import { DEFAULT_PRIORITY, type Priority, rulePriority } from '../core/shedding/priority.ts'
import { isSettleable, type PlannedCharge } from './charge.ts'
import { type Answer, type Decider, type Held, isUncharged } from './decider.ts'
import { type AskAgain, FullDecider } from './full-decider.ts'
import type { LoadShedder } from './load-shedder.ts'
import type { Observer } from './observer.ts'
import type { Payer } from './payer.ts'
import { type OverrideOptions, Planner } from './plan.ts'
import type { HeldPermits, Renewal, Store } from './ports.ts'
import type { Quotas } from './quotas.ts'
import type { Renewals } from './renewals.ts'

export interface LimiterParts {
  /** Encodes secret and long values. Nodes that share a store share its key. Default: a random key. */
  readonly hash?: KeyedHash
  /** How many partitions a shared store has. Default: 0, a store of this process alone. */
  readonly partitions?: number
  /** What the keys of a shared store begin with. Default: nothing. */
  readonly keyPrefix?: string
  /** What is known about callers of tiered rules. */
  readonly accounts?: AccountLookup
  /**
   * What is set for callers in addition to the rules: accounts, tiers, blocks, grants and switches. Replaces
   * `accounts`.
   */
  readonly quotas?: () => Quotas
  /**
   * Lets refused requests pass: every rule is charged what fits, as if it were a shadow rule. Decisions still report
   * the answers of the rules. Default: false.
   */
  readonly shadow?: boolean
  /**
   * Every rule is charged for itself: one that refuses keeps no other from counting. Default: all are charged or none.
   */
  readonly apart?: boolean
  /**
   * A limit in quota mode that is exhausted keeps the others of a request from counting, see Planner. Default: false.
   */
  readonly quotasBind?: boolean
  /** How limits that requests bring are counted. Default: like a rule with default options, on separate counters. */
  readonly overrides?: OverrideOptions
  /** Receives every decision. Default: none. */
  readonly observer?: Observer
  /** Sheds requests where not all can be served. Default: none is shed. */
  readonly shedder?: LoadShedder | undefined
  /** Renews the permits of long-running requests. Default: the Renewals of the process. */
  readonly renewals?: Renewals | undefined
  /** Requests wait here for their turns, which are not given back, see Decider. Default: false. */
  readonly keepsTurns?: boolean
  /** Pays for what rules with a meter admit, see Decider. Default: there is none. */
  readonly payer?: Payer | undefined
}

/** A decision about an estimate, and what it was charged to. */
export interface Reserved {
  readonly decision: Decision
  readonly charged: readonly string[]
  /** What the ledger keeps until then. */
  readonly holds: readonly LedgerHold[]
}

/** How long it is remembered that a reservation was settled. It must be settled within half of that. */
export const RESERVED_MS = 2 * 3_600_000
const ONCE = compileLimit({ algorithm: 'fixed_window', anchor: 'first_hit', limit: 1, window: RESERVED_MS })
const CLOSED = { onStoreFailure: 'closed', localShare: 1 } as const

/**
 * Decides about requests by rules, in two halves: `plan` matches a request against the rules in force and says which
 * counters it charges; `decide` asks the store about all of them in one call and folds the verdicts. One call sees one
 * version of the rules.
 */
export class Limiter<S extends Store> {
  readonly #rules: () => RuleSet
  readonly #planner: Planner
  readonly #decider: FullDecider<S>
  readonly #store: S
  readonly #shedder: LoadShedder | undefined

  constructor(rules: () => RuleSet, store: S, parts: LimiterParts = {}) {
    this.#rules = rules
    this.#store = store
    const { hash = KeyedHash.random(), partitions, keyPrefix } = parts
    this.#planner = new Planner(new KeyEncoder(hash, partitions, keyPrefix), parts)
    const again: AskAgain | undefined =
      parts.quotas && ((charges, verdicts) => this.#planner.withGrants(rules(), charges, verdicts))
    this.#shedder = parts.shedder
    this.#decider = new FullDecider(store, parts.observer, { ...parts, again })
  }

  /**
   * Returns which rules apply to a request, on which counters, at what cost. `view` is how a door reads the rules in
   * force.
   */
  plan(request: CheckRequest, view?: (rules: RuleSet) => RuleSet): readonly PlannedCharge[] {
    const rules = this.#rules()
    return this.#planner.plan(view === undefined ? rules : view(rules), request)
  }

  /** Charges every counter of a plan when all rules have budget, and says what they said. */
  decide(charges: readonly PlannedCharge[]): Answer<S, Decision> {
    return this.#decider.decide(charges)
  }

  /** Plans and decides. `context` is for doors that would have to copy the request to put it there. */
  check(request: CheckRequest, context = request.context): Answer<S, Decision> {
    const charges = this.plan(request)
    return this.#watched(this.#decider.decide(charges, context, this.#priorityOf(request, charges)))
  }

  /**
   * Takes what a request has cost in the end, see Decider. The request is planned again: rules that have changed since
   * are left as they are.
   */
  settle(request: CheckRequest, decision: Decision, cost: number): Answer<S, Decision | undefined> {
    const charges = this.#planner.plan(this.#rules(), request, true)
    const isSame = charges.map((charge, i) => charge.rule === decision.verdicts[i]?.rule)
    const verdicts = decision.verdicts.filter((_, i) => isSame[i])
    return this.#decider.settle(
      charges.filter((_, i) => isSame[i]),
      { ...decision, verdicts },
      cost,
    )
  }

  /** Like check with a cost that is an estimate. `charged` are the counters to be settled by settleReserved. */
  async reserve(request: CheckRequest, context = request.context): Promise<Reserved> {
    const charges = this.plan(request)
    const asked = this.#decider.decide(charges, context, this.#priorityOf(request, charges), true)
    const decision = await this.#watched(asked)
    const isTaken = decision.allowed && !isUncharged(charges, decision)
    const isCharged = charges.map((charge, i) => isTaken && isSettleable(charge, decision.verdicts[i].verdict))
    const charged = charges.filter((_, i) => isCharged[i]).map(({ key }) => key)
    return { decision, charged, holds: decision.ledger?.holds ?? [] }
  }

  /**
   * Settles, once, what `reserve` charged. Returns false if that was done before, if the store does not answer, or if
   * none of the rules of that time is still in force. The id identifies the reservation. What the ledger kept is booked
   * first: it books once, too, and what it does not take is to be settled again.
   */
  async settleReserved(
    request: CheckRequest,
    charged: readonly string[],
    id: string,
    cost: number,
    holds: readonly LedgerHold[] = [],
  ): Promise<boolean> {
    for (const hold of holds) {
      const used = hold.weight > 0 ? Math.min(Math.ceil(cost * hold.weight), MAX_COUNT) : hold.amount
      if (!(await this.#decider.commit(hold, used))) return false
    }
    const known = new Set(charged)
    const charges = this.#planner.plan(this.#rules(), request, true).filter(({ key }) => known.has(key))
    if (charges.length === 0) return holds.length > 0
    const mark = { key: `${charged[0]}|reservation=${id}`, limit: ONCE, cost: 1, enforce: true, policy: CLOSED }
    const [first] = await this.#store.decide([mark])
    if (!first.allowed || first.fallback !== undefined) return false
    const verdict = allowedVerdict(0, 0, 0)
    const verdicts = charges.map(({ rule, descriptor }) => ({ rule, descriptor, verdict }))
    await this.#decider.settle(charges, { ...UNLIMITED, verdicts }, cost)
    return true
  }

  /** Like check, and also takes the places of the `concurrency` rules that matched. */
  acquire(request: CheckRequest, context = request.context): Answer<S, Held> {
    const charges = this.plan(request)
    return this.#watched(this.#decider.acquire(charges, context, this.#priorityOf(request, charges)))
  }

  /**
   * Like acquire, for charges that were planned before, perhaps in several domains. `priority` is set for a request
   * that may be shed; the code that sees the request begin and end reports both to the shedder.
   */
  hold(charges: readonly PlannedCharge[], context?: RequestContext, priority?: Priority): Answer<S, Held> {
    return this.#decider.acquire(charges, context, priority, true)
  }

  /**
   * Returns the decision of a request about which its caller has found everything by looking: nothing is charged.
   * `verdicts` has one for each charge.
   */
  conclude(charges: readonly PlannedCharge[], verdicts: readonly Verdict[], context?: RequestContext): Decision {
    return this.#decider.conclude(charges, verdicts, context)
  }

  /** What gives back what hold took. */
  get decider(): Decider<S> {
    return this.#decider
  }

  /** Returns how a domain is matched against; undefined where the rules in force do not have it. */
  domain(name: string): Domain | undefined {
    return this.#rules().domains.get(name)
  }

  /** The load shedder, for doors that know when requests begin and end. */
  get shedder(): LoadShedder | undefined {
    return this.#shedder
  }

  /** Has what hold or acquire took renewed for as long as the holder can give it back, see Renewals. */
  keep(permits: HeldPermits, holder: object): void {
    this.#decider.keep(permits, holder)
  }

  /** Renews once what acquire took, for holders in other processes. */
  renew(permits: readonly HeldPermits[]): Answer<S, readonly Renewal[]> {
    return this.#decider.renew(permits)
  }

  /** Gives back what acquire took. */
  release(permits: HeldPermits): Answer<S, void> {
    return this.#decider.release(permits)
  }

  /** Forgets every counter that the request touches. */
  reset(request: CheckRequest): Answer<S, void> {
    return this.#decider.reset(this.#planner.plan(this.#rules(), request, true))
  }

  /** Undefined for what is never shed: looks, and what is given back. */
  #priorityOf(
    { cost = 1, priority, descriptors }: CheckRequest,
    charges: readonly PlannedCharge[],
  ): Priority | undefined {
    if (this.#shedder === undefined || cost <= 0) return undefined
    for (let i = 0; i < descriptors.length; i++) if ((descriptors[i].cost ?? 1) < 0) return undefined
    return priority ?? rulePriority(charges) ?? DEFAULT_PRIORITY
  }

  /** Reports to the shedder how many decisions are in flight and how long they take. */
  #watched<T>(answer: T): T {
    const shedder = this.#shedder
    if (shedder?.watchesRequests !== true || !(answer instanceof Promise)) return answer
    const startedAt = performance.now()
    shedder.began()
    return answer.finally(() => shedder.ended(performance.now() - startedAt)) as T
  }
}
