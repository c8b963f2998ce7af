import { combine, combineOne, type Decision, isTighter, type RuleVerdict, UNLIMITED } from '../core/combine.ts'
import { allowedVerdict, UNLIMITED_VERDICT, type Verdict } from '../core/decision.ts'
import type { LedgerHold } from '../core/ledger-note.ts'
import { handsOutTurns, holdsPermits, MAX_COUNT } from '../core/limit.ts'
import type { RequestContext } from '../core/request.ts'
import type { Priority } from '../core/shedding/priority.ts'
import { isSettleable, type PlannedCharge } from './charge.ts'
import type { Observer } from './observer.ts'
import {
  type Acquired,
  type Charge,
  type HeldPermits,
  isRefused,
  type MaybePromise,
  type Renewal,
  type Store,
  type SyncStore,
} from './ports.ts'
import { processRenewals, type Renewals } from './renewals.ts'

/** T itself from a synchronous store, possibly a promise of it from any other. */
export type Answer<S extends Store, T> = S extends SyncStore ? T : MaybePromise<T>

/** The decision about an acquire, and the permits to give back if it was allowed. */
export interface Held {
  readonly decision: Decision
  readonly permits: HeldPermits | undefined
}

/** What a Decider needs in addition to a store and an observer. */
export interface DeciderParts {
  /** Default: the renewals of the process. */
  readonly renewals?: Renewals | undefined
  /**
   * Requests wait here for the turns that they are given (leaky_bucket): what a turn has cost is not given back,
   * because the next request would get the turn of another that still waits. Default: false.
   */
  readonly keepsTurns?: boolean | undefined
}

/**
 * The only code that asks the store about charges, folds the verdicts and notifies the observer. Doors and the library
 * differ only in how they make charges. FullDecider adds what most apps do not have: load shedding, grants and a ledger.
 */
export class Decider<S extends Store> {
  protected readonly store: S
  /** The store, if it is synchronous. */
  readonly #sync: SyncStore | undefined
  readonly #observer: Observer | undefined
  readonly #renewals: Renewals
  readonly #keepsTurns: boolean

  constructor(store: S, observer?: Observer, parts: DeciderParts = {}) {
    this.store = store
    this.#sync = isSync(store) ? store : undefined
    this.#observer = observer
    this.#renewals = parts.renewals ?? processRenewals
    this.#keepsTurns = parts.keepsTurns ?? false
  }

  /**
   * Asks about all charges, and charges every one of them or none. A request with a priority may be shed (by a
   * FullDecider): its decision then has the one verdict that says so, whatever the charges are. `isOpen`: the caller will
   * say what the request came to, see HeldCharges; otherwise meters are charged immediately.
   */
  decide(
    charges: readonly PlannedCharge[],
    context?: RequestContext,
    _priority?: Priority,
    isOpen = false,
  ): Answer<S, Decision> {
    return this.#decide(charges, this.now(), context, isOpen) as Answer<S, Decision>
  }

  /** Like decide, and also takes the places of `concurrency` limits. */
  acquire(
    charges: readonly PlannedCharge[],
    context?: RequestContext,
    _priority?: Priority,
    isOpen = false,
  ): Answer<S, Held> {
    const startedAt = this.now()
    if (!charges.some(isConcurrency) || charges[0].verdict !== undefined) {
      const decision = this.#decide(charges, startedAt, context, isOpen)
      return (decision instanceof Promise ? decision.then(withoutPermits) : withoutPermits(decision)) as Answer<S, Held>
    }
    const asked: Asked = { charges, startedAt, context, isOpen, ask: (counted) => this.store.acquire(counted) }
    return chain(asked.ask(countedOf(charges)), (acquired) => this.hold(asked, acquired)) as Answer<S, Held>
  }

  /** Gives back what a decision charged: nothing that was refused, or decided without the store. */
  refund(charges: readonly PlannedCharge[], decision: Decision): MaybePromise<unknown> {
    if (isUncharged(charges, decision)) return undefined
    const { verdicts } = decision
    const charged = charges.filter((charge, i) => isCharged(charge, verdicts[i].verdict) && !this.keeps(charge))
    if (charged.length === 0) return undefined
    return this.decide(charged.map((charge) => ({ ...charge, cost: -charge.cost })))
  }

  /**
   * Settles a request whose decision charged an estimate: gives back the excess, and charges the rest, whether it fits
   * or not. Debt is at most one whole budget; each verdict says what was dropped beyond it. Returns undefined where
   * there is nothing to do: the request was refused, decided without the store, or cost what was charged. Permits are
   * not settled.
   */
  settle(charges: readonly PlannedCharge[], decision: Decision, cost: number): Answer<S, Decision | undefined> {
    if (!decision.allowed || isUncharged(charges, decision)) return undefined as Answer<S, undefined>
    const late: PlannedCharge[] = []
    charges.forEach((charge, i) => {
      const more = Math.min(cost * (charge.weight ?? 1), MAX_COUNT) - charge.cost
      if (more === 0 || !isSettleable(charge, decision.verdicts[i].verdict)) return
      if (more < 0 && this.keeps(charge)) return
      late.push({ ...charge, cost: more, enforce: false, ...(more > 0 && { debit: true }) })
    })
    return (late.length === 0 ? undefined : this.decide(late)) as Answer<S, Decision | undefined>
  }

  /** Returns the charges after a settlement: what a refund must give back. */
  settledCharges(charges: readonly PlannedCharge[], decision: Decision, cost: number): readonly PlannedCharge[] {
    if (!decision.allowed || isUncharged(charges, decision)) return charges
    return charges.map((charge, i) => {
      if (!isSettleable(charge, decision.verdicts[i].verdict)) return charge
      return { ...charge, cost: Math.min(cost * (charge.weight ?? 1), MAX_COUNT) }
    })
  }

  /** Returns the decision for verdicts that the caller has found by looking: nothing is charged. */
  conclude(charges: readonly PlannedCharge[], verdicts: readonly Verdict[], context?: RequestContext): Decision {
    return this.report(charges, fold(charges, verdicts), this.now(), context)
  }

  /** Books what a hold of the ledger came to, see Payer. Without a ledger there is none. */
  commit(_hold: LedgerHold, _used: number, _before?: number): MaybePromise<boolean> {
    return false
  }

  /** Has what acquire took renewed for as long as the holder can give it back, see Renewals. */
  keep(permits: HeldPermits, holder: object): void {
    this.#renewals.keep(this.store, permits, holder)
  }

  /** Ends that: what is not given back is free when its time is over. */
  letGo(permits: HeldPermits): void {
    this.#renewals.letGo(this.store, permits)
  }

  /** Renews once what acquire took. */
  renew(permits: readonly HeldPermits[]): Answer<S, readonly Renewal[]> {
    return this.#renewals.renew(this.store, permits) as Answer<S, readonly Renewal[]>
  }

  /** Gives back what acquire took. */
  release(permits: HeldPermits): Answer<S, void> {
    this.letGo(permits)
    return this.store.release(permits) as Answer<S, void>
  }

  /** Forgets every counter that is charged. */
  reset(charges: readonly Pick<PlannedCharge, 'key' | 'limit' | 'rule'>[]): Answer<S, void> {
    const pending = charges
      .filter(({ rule }) => !rule.unlimited)
      .map(({ key, limit }) => this.store.reset(key, limit))
      .filter((result) => result instanceof Promise)
    return (pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)) as Answer<S, void>
  }

  protected keeps({ limit }: PlannedCharge): boolean {
    return this.#keepsTurns && handsOutTurns(limit)
  }

  #decide(
    charges: readonly PlannedCharge[],
    startedAt: number,
    context: RequestContext | undefined,
    isOpen: boolean,
  ): MaybePromise<Decision> {
    if (charges.length === 1 && charges[0].verdict !== undefined) {
      return this.report(charges, fold(charges, [charges[0].verdict]), startedAt, context)
    }
    if (charges.length === 1 && this.#sync !== undefined && !charges[0].rule.unlimited && charges[0].debit !== true) {
      const { key, limit, cost } = charges[0]
      return this.#conclude(charges, [this.#sync.decideOne(key, limit, cost)], startedAt, context, isOpen)
    }
    const counted = countedOf(charges)
    if (counted.length === 0) return this.#conclude(charges, NO_VERDICTS, startedAt, context, isOpen)
    const verdicts = this.store.decide(counted)
    if (verdicts instanceof Promise)
      return verdicts.then((all) => this.#conclude(charges, all, startedAt, context, isOpen))
    return this.#conclude(charges, verdicts, startedAt, context, isOpen)
  }

  #conclude(
    charges: readonly PlannedCharge[],
    verdicts: readonly Verdict[],
    startedAt: number,
    context: RequestContext | undefined,
    isOpen: boolean,
  ): MaybePromise<Decision> {
    return this.concluded(charges, fold(charges, verdicts), startedAt, context, isOpen)
  }

  /** Reports the decision of the limits: here it is the last word. */
  protected concluded(
    charges: readonly PlannedCharge[],
    decision: Decision,
    startedAt: number,
    context: RequestContext | undefined,
    _isOpen: boolean,
  ): MaybePromise<Decision> {
    return this.report(charges, decision, startedAt, context)
  }

  /** The same about an acquire. */
  protected hold({ charges, startedAt, context }: Asked, { verdicts, permits }: Answered): MaybePromise<Held> {
    return { decision: this.report(charges, fold(charges, verdicts), startedAt, context), permits }
  }

  protected report(
    charges: readonly PlannedCharge[],
    decision: Decision,
    startedAt: number,
    context: RequestContext | undefined,
  ): Decision {
    const observer = this.#observer
    if (observer === undefined) return decision
    if (charges.length > 0 && charges[0].isAside === true) {
      observer.aside?.(charges, decision)
      return decision
    }
    const ms = performance.now() - startedAt
    const at = decision.allowed ? -1 : refusingCondition(charges, decision)
    if (at < 0) observer.decided(charges, decision, ms, context)
    else observer.decided([{ ...charges[at], cost: 1 }], combineOne(decision.verdicts[at]), ms, context)
    return decision
  }

  protected now(): number {
    return this.#observer === undefined ? 0 : performance.now()
  }
}

/**
 * The second half of every decision: folds the verdicts and notifies the observer. Called directly where the verdicts
 * come from a store of the app. `startedAt` is performance.now() at the time of asking.
 */
export function conclude(
  charges: readonly PlannedCharge[],
  verdicts: readonly Verdict[],
  observer: Observer | undefined,
  startedAt: number,
): Decision {
  const decision = fold(charges, verdicts)
  if (observer !== undefined) observer.decided(charges, decision, performance.now() - startedAt)
  return decision
}

const NO_VERDICTS: readonly Verdict[] = []

function isSync(store: Store): store is SyncStore {
  return typeof (store as Partial<SyncStore>).decideOne === 'function'
}

export const isConcurrency = ({ limit }: Charge): boolean => holdsPermits(limit)

const withoutPermits = (decision: Decision): Held => ({ decision, permits: undefined })

/** What a store was asked about, and how it is asked about something else. */
export interface Asked {
  readonly charges: readonly PlannedCharge[]
  readonly startedAt: number
  readonly context: RequestContext | undefined
  readonly ask: (counted: readonly PlannedCharge[]) => MaybePromise<Answered>
  /** The caller will say what the request came to. */
  readonly isOpen: boolean
}

/** What the store said. */
export interface Answered extends Acquired {
  /** Set where the fleet has no capacity for the request: it says whether that sheds it, and counts it. */
  readonly byFleet?: (() => PlannedCharge | undefined) | undefined
}

/** Continues with a value, synchronously if it is there. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * Returns whether the store charged no charge that fits, because another does not. Such a request is refused as a rule;
 * where limits in quota mode bind (Planner), it may be allowed.
 */
export function isUncharged(charges: readonly PlannedCharge[], { verdicts }: Decision): boolean {
  const counted = countedOf(charges)
  if (counted.length < 2) return false
  const answered = verdicts.filter(({ rule }) => !rule.unlimited)
  return isRefused(
    counted,
    answered.map(({ verdict }) => verdict),
  )
}

/** Whether a decision took something from a counter that can be given back. */
function isCharged(charge: PlannedCharge, verdict: Verdict): boolean {
  return charge.cost > 0 && isSettleable(charge, verdict)
}

/** Leaves out the rules without a limit: the store is not asked about them. */
export function countedOf(charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
  return charges.some(({ rule }) => rule.unlimited) ? charges.filter(({ rule }) => !rule.unlimited) : charges
}

/**
 * Folds the store's verdicts and the verdicts of rules without a limit into one decision, in the order of the charges.
 */
export function fold(charges: readonly PlannedCharge[], verdicts: readonly Verdict[]): Decision {
  if (charges.length === 0) return UNLIMITED
  if (charges.length === 1) {
    const [{ rule, descriptor, isFree }] = charges
    const verdict = isFree === true ? freed(verdicts[0]) : verdicts[0]
    if (!rule.unlimited && !rule.shadow) return combineOne({ rule, descriptor, verdict })
  }
  let next = 0
  return combine(
    charges.map(({ rule, descriptor, isFree }): RuleVerdict => {
      const verdict = rule.unlimited ? UNLIMITED_VERDICT : verdicts[next++]
      return { rule, descriptor, verdict: isFree === true ? freed(verdict) : verdict }
    }),
  )
}

/** Returns the position of the look that refuses a request for longest; -1 where none does. */
function refusingCondition(charges: readonly PlannedCharge[], { verdicts }: Decision): number {
  let at = -1
  for (let i = 0; i < charges.length; i++) {
    const { isCondition, enforce } = charges[i]
    if (isCondition !== true || !enforce || verdicts[i] === undefined || verdicts[i].verdict.allowed) continue
    if (at < 0 || isTighter(verdicts[i].verdict, verdicts[at].verdict)) at = i
  }
  return at
}

/** Returns the verdict about a request that is free. */
function freed(verdict: Verdict): Verdict {
  return verdict.allowed ? verdict : allowedVerdict(verdict.limit, verdict.remaining, verdict.resetAfterMs)
}
