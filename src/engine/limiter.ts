import { randomBytes } from 'node:crypto'
import { type Decision, UNLIMITED } from '../core/combine.ts'
import { allowedVerdict, type Verdict } from '../core/decision.ts'
import { KeyedHash } from '../core/hash.ts'
import { KeySpeller } from '../core/key-speller.ts'
import { compileLimit } from '../core/limit.ts'
import type { CheckRequest, RequestContext } from '../core/request.ts'
import type { AccountLookup } from '../core/rules/match.ts'
import type { Domain, RuleSet } from '../core/rules/rule-set.ts'
import { DEFAULT_PRIORITY, type Priority, rulePriority } from '../core/shedding/priority.ts'
import type { PlannedCharge } from './charge.ts'
import { type Answer, type AskAgain, Decider, type Held, isSettleable, isUncharged } from './decider.ts'
import type { LoadShedder } from './load-shedder.ts'
import type { Observer } from './observer.ts'
import { type OverrideOptions, Planner } from './plan.ts'
import type { HeldPermits, Renewal, Store } from './ports.ts'
import type { Quotas } from './quotas.ts'
import type { Renewals } from './renewals.ts'

export interface LimiterParts {
  /** Spells secret and long values. Nodes that share a store share its key. Default: a random key. */
  readonly hash?: KeyedHash
  /** How many partitions a shared store has. Default: 0, a store of this process alone. */
  readonly partitions?: number
  /** What the keys of a shared store begin with. Default: nothing. */
  readonly keyPrefix?: string
  /** What is known about callers of tiered rules. */
  readonly accounts?: AccountLookup
  /** What is said about callers beside the rules: accounts, tiers, blocks, grants and switches. In place of `accounts`. */
  readonly quotas?: () => Quotas
  /**
   * The caller lets refused requests pass: every rule is charged what fits, as if it were a shadow rule. Decisions say
   * what the rules say all the same. Default: false.
   */
  readonly shadow?: boolean
  /** Every rule is charged for itself: one that refuses keeps no other from counting. Default: all are charged or none. */
  readonly apart?: boolean
  /** A limit in quota mode that is exhausted keeps the others of a request from counting, see Planner. Default: false. */
  readonly quotasBind?: boolean
  /** How limits are counted that requests bring along. Default: as a rule that says nothing, on counters of their own. */
  readonly overrides?: OverrideOptions
  /** Hears of every decision. Default: nobody. */
  readonly observer?: Observer
  /** Sheds requests where not all can be served. Default: none is shed. */
  readonly shedder?: LoadShedder | undefined
  /** Renews the places of requests that run for long. Default: those of the process. */
  readonly renewals?: Renewals | undefined
  /** Requests wait here for their turns, which are not given back, see Decider. Default: false. */
  readonly keepsTurns?: boolean
}

/** A Reserved is a decision about an estimate, and what it was charged to. */
export interface Reserved {
  readonly decision: Decision
  readonly charged: readonly string[]
}

/** For how long it is remembered that a reservation was settled. It has to be settled within half of it. */
export const RESERVED_MS = 2 * 3_600_000
const ONCE = compileLimit({ algorithm: 'fixed_window', anchor: 'first_hit', limit: 1, window: RESERVED_MS })
const CLOSED = { onStoreFailure: 'closed', localShare: 1 } as const

/**
 * Limiter decides about requests by rules, in two halves: `plan` matches a request against the rules in force and says
 * which counters it charges; `decide` asks the store about all of them in one call and folds the verdicts. One call sees
 * one version of the rules.
 */
export class Limiter<S extends Store> {
  readonly #rules: () => RuleSet
  readonly #planner: Planner
  readonly #decider: Decider<S>
  readonly #store: S
  readonly #shedder: LoadShedder | undefined

  constructor(rules: () => RuleSet, store: S, parts: LimiterParts = {}) {
    this.#rules = rules
    this.#store = store
    const { hash = randomHash(), partitions, keyPrefix } = parts
    this.#planner = new Planner(new KeySpeller(hash, partitions, keyPrefix), parts)
    const again: AskAgain | undefined =
      parts.quotas && ((charges, verdicts) => this.#planner.withGrants(rules(), charges, verdicts))
    this.#shedder = parts.shedder
    this.#decider = new Decider(store, parts.observer, { ...parts, again })
  }

  /** plan says which rules apply to a request, on which counters, at what cost. `view` is how a door reads the rules in force. */
  plan(request: CheckRequest, view?: (rules: RuleSet) => RuleSet): readonly PlannedCharge[] {
    const rules = this.#rules()
    return this.#planner.plan(view === undefined ? rules : view(rules), request)
  }

  /** decide charges every counter of a plan when all rules have budget, and says what they said. */
  decide(charges: readonly PlannedCharge[]): Answer<S, Decision> {
    return this.#decider.decide(charges)
  }

  /** check plans and decides. `context` is for doors that would have to copy the request to put it there. */
  check(request: CheckRequest, context = request.context): Answer<S, Decision> {
    const charges = this.plan(request)
    return this.#watched(this.#decider.decide(charges, context, this.#priorityOf(request, charges)))
  }

  /**
   * settle takes what a request has cost in the end, see Decider. The request is planned again: rules that have changed since
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

  /** reserve is check with a cost that is an estimate. `charged` are the counters to be settled by settleReserved. */
  async reserve(request: CheckRequest, context = request.context): Promise<Reserved> {
    const charges = this.plan(request)
    const decision = await this.#watched(this.#decider.decide(charges, context, this.#priorityOf(request, charges)))
    const isTaken = decision.allowed && !isUncharged(charges, decision)
    const isCharged = charges.map((charge, i) => isTaken && isSettleable(charge, decision.verdicts[i].verdict))
    return { decision, charged: charges.filter((_, i) => isCharged[i]).map(({ key }) => key) }
  }

  /**
   * settleReserved settles what `reserve` charged, once: it returns false where that was done before, where the store does
   * not answer, or where no rule of then is still in force. The id tells reservations apart.
   */
  async settleReserved(request: CheckRequest, charged: readonly string[], id: string, cost: number): Promise<boolean> {
    const known = new Set(charged)
    const charges = this.#planner.plan(this.#rules(), request, true).filter(({ key }) => known.has(key))
    if (charges.length === 0) return false
    const mark = { key: `${charged[0]}|reservation=${id}`, limit: ONCE, cost: 1, enforce: true, policy: CLOSED }
    const [first] = await this.#store.decide([mark])
    if (!first.allowed || first.fallback !== undefined) return false
    const verdict = allowedVerdict(0, 0, 0)
    const verdicts = charges.map(({ rule, descriptor }) => ({ rule, descriptor, verdict }))
    await this.#decider.settle(charges, { ...UNLIMITED, verdicts }, cost)
    return true
  }

  /** acquire is check, and also takes the places of the `concurrency` rules that matched. */
  acquire(request: CheckRequest, context = request.context): Answer<S, Held> {
    const charges = this.plan(request)
    return this.#watched(this.#decider.acquire(charges, context, this.#priorityOf(request, charges)))
  }

  /**
   * hold is acquire for what was planned before, perhaps in several domains. `priority` is that of a request which may be shed; the
   * shedder hears of its beginning and end by those who know them.
   */
  hold(charges: readonly PlannedCharge[], context?: RequestContext, priority?: Priority): Answer<S, Held> {
    return this.#decider.acquire(charges, context, priority)
  }

  /** Returns the decision of a request about which its caller has found everything by looking: nothing is charged. `verdicts` has one for each charge. */
  conclude(charges: readonly PlannedCharge[], verdicts: readonly Verdict[], context?: RequestContext): Decision {
    return this.#decider.conclude(charges, verdicts, context)
  }

  /** What gives back what hold took. */
  get decider(): Decider<S> {
    return this.#decider
  }

  /** domain is how a domain is matched against; undefined where the rules in force do not have it. */
  domain(name: string): Domain | undefined {
    return this.#rules().domains.get(name)
  }

  /** What sheds load, for those who know when requests begin and end. */
  get shedder(): LoadShedder | undefined {
    return this.#shedder
  }

  /** keep has what hold or acquire took renewed for as long as the holder can give it back, see Renewals. */
  keep(permits: HeldPermits, holder: object): void {
    this.#decider.keep(permits, holder)
  }

  /** renew has the time of what acquire took begin anew, once: for holders elsewhere. */
  renew(permits: readonly HeldPermits[]): Answer<S, readonly Renewal[]> {
    return this.#decider.renew(permits)
  }

  /** release gives back what acquire took. */
  release(permits: HeldPermits): Answer<S, void> {
    return this.#decider.release(permits)
  }

  /** reset forgets every counter that the request touches. */
  reset(request: CheckRequest): Answer<S, void> {
    return this.#decider.reset(this.#planner.plan(this.#rules(), request, true))
  }

  /** #priorityOf is undefined for what is never shed: looks, and what is given back. */
  #priorityOf(
    { cost = 1, priority, descriptors }: CheckRequest,
    charges: readonly PlannedCharge[],
  ): Priority | undefined {
    if (this.#shedder === undefined || cost <= 0) return undefined
    for (let i = 0; i < descriptors.length; i++) if ((descriptors[i].cost ?? 1) < 0) return undefined
    return priority ?? rulePriority(charges) ?? DEFAULT_PRIORITY
  }

  /** #watched tells the shedder how many decisions are under way, and how long they take. */
  #watched<T>(answer: T): T {
    const shedder = this.#shedder
    if (shedder?.watchesRequests !== true || !(answer instanceof Promise)) return answer
    const startedAt = performance.now()
    shedder.began()
    return answer.finally(() => shedder.ended(performance.now() - startedAt)) as T
  }
}

/** randomHash makes a hash that nobody else knows. */
export function randomHash(): KeyedHash {
  const secret = randomBytes(8)
  return new KeyedHash(secret.readInt32LE(0), secret.readInt32LE(4))
}
