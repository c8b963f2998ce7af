import { combine, combineOne, type Decision, isTighter, type RuleVerdict, UNLIMITED } from '../core/combine.ts'
import { allowedVerdict, UNLIMITED_VERDICT, type Verdict } from '../core/decision.ts'
import type { LedgerHold } from '../core/ledger-note.ts'
import { handsOutTurns, holdsPermits, MAX_COUNT } from '../core/limit.ts'
import type { RequestContext } from '../core/request.ts'
import type { Priority } from '../core/shedding/priority.ts'
import { isSettleable, type PlannedCharge } from './charge.ts'
import type { LoadShedder } from './load-shedder.ts'
import type { Observer } from './observer.ts'
import { type Due, duesOf, type Paid, type Payer, unpaidRule } from './payer.ts'
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

/** Says how else a request that was refused may be charged: lists of charges, to be tried one after the other. */
export type AskAgain = (
  charges: readonly PlannedCharge[],
  verdicts: readonly Verdict[],
) => readonly (readonly PlannedCharge[])[]

/** What a Decider needs in addition to a store and an observer. */
export interface DeciderParts {
  readonly again?: AskAgain | undefined
  readonly shedder?: LoadShedder | undefined
  /** Default: the renewals of the process. */
  readonly renewals?: Renewals | undefined
  /**
   * Requests wait here for the turns that they are given (leaky_bucket): what a turn has cost is not given back,
   * because the next request would get the turn of another that still waits. Default: false.
   */
  readonly keepsTurns?: boolean | undefined
  /** Pays for what rules with a meter admit. Default: there is none, and no such rule. */
  readonly payer?: Payer | undefined
}

/**
 * The only code that asks the store about charges, folds the verdicts and notifies the observer. Doors and the library
 * differ only in how they make charges.
 */
export class Decider<S extends Store> {
  readonly #store: S
  /** The store, if it is synchronous. */
  readonly #sync: SyncStore | undefined
  readonly #observer: Observer | undefined
  readonly #again: AskAgain | undefined
  readonly #shedder: LoadShedder | undefined
  readonly #renewals: Renewals
  readonly #keepsTurns: boolean
  readonly #payer: Payer | undefined

  constructor(store: S, observer?: Observer, parts: DeciderParts = {}) {
    this.#store = store
    this.#sync = isSync(store) ? store : undefined
    this.#observer = observer
    this.#again = parts.again
    this.#shedder = parts.shedder
    this.#renewals = parts.renewals ?? processRenewals
    this.#keepsTurns = parts.keepsTurns ?? false
    this.#payer = parts.payer
  }

  /**
   * Asks about all charges, and charges every one of them or none. A request with a priority may be shed: its decision
   * then has the one verdict that says so, whatever the charges are. `isOpen`: the caller will say what the request
   * came to, see HeldCharges; otherwise meters are charged immediately.
   */
  decide(
    charges: readonly PlannedCharge[],
    context?: RequestContext,
    priority?: Priority,
    isOpen = false,
  ): Answer<S, Decision> {
    const startedAt = this.#now()
    if (priority !== undefined && this.#shedder !== undefined) {
      const ask = (counted: readonly PlannedCharge[]): MaybePromise<Acquired> => this.#askVerdicts(counted)
      const held = this.#shed({ charges, startedAt, context, ask, isOpen }, this.#shedder, priority)
      if (held !== undefined) return then(held, ({ decision }) => decision) as Answer<S, Decision>
    }
    return this.#decide(charges, startedAt, context, isOpen) as Answer<S, Decision>
  }

  /** Like decide, and also takes the places of `concurrency` limits. */
  acquire(
    charges: readonly PlannedCharge[],
    context?: RequestContext,
    priority?: Priority,
    isOpen = false,
  ): Answer<S, Held> {
    const startedAt = this.#now()
    if (priority !== undefined && this.#shedder !== undefined) {
      const takes = charges.some(isConcurrency)
      const ask = (counted: readonly PlannedCharge[]): MaybePromise<Acquired> =>
        takes ? this.#store.acquire(counted) : this.#askVerdicts(counted)
      const held = this.#shed({ charges, startedAt, context, ask, isOpen }, this.#shedder, priority)
      if (held !== undefined) return held as Answer<S, Held>
    }
    if (!charges.some(isConcurrency) || charges[0].verdict !== undefined) {
      const decision = this.#decide(charges, startedAt, context, isOpen)
      return (decision instanceof Promise ? decision.then(withoutPermits) : withoutPermits(decision)) as Answer<S, Held>
    }
    const asked: Asked = { charges, startedAt, context, isOpen, ask: (counted) => this.#store.acquire(counted) }
    return then(asked.ask(countedOf(charges)), (acquired) => this.#hold(asked, acquired)) as Answer<S, Held>
  }

  /** Gives back what a decision charged: nothing that was refused, or decided without the store. */
  refund(charges: readonly PlannedCharge[], decision: Decision): MaybePromise<unknown> {
    if (isUncharged(charges, decision)) return undefined
    const { verdicts } = decision
    const charged = charges.filter((charge, i) => isCharged(charge, verdicts[i].verdict) && !this.#keeps(charge))
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
      if (more < 0 && this.#keeps(charge)) return
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
    return this.#report(charges, fold(charges, verdicts), this.#now(), context)
  }

  /** Books what a hold of the ledger came to, see Payer. */
  commit(hold: LedgerHold, used: number, before?: number): MaybePromise<boolean> {
    return this.#payer?.commit(hold, used, before) ?? false
  }

  /** Has what acquire took renewed for as long as the holder can give it back, see Renewals. */
  keep(permits: HeldPermits, holder: object): void {
    this.#renewals.keep(this.#store, permits, holder)
  }

  /** Ends that: what is not given back is free when its time is over. */
  letGo(permits: HeldPermits): void {
    this.#renewals.letGo(this.#store, permits)
  }

  /** Renews once what acquire took. */
  renew(permits: readonly HeldPermits[]): Answer<S, readonly Renewal[]> {
    return this.#renewals.renew(this.#store, permits) as Answer<S, readonly Renewal[]>
  }

  /** Gives back what acquire took. */
  release(permits: HeldPermits): Answer<S, void> {
    this.letGo(permits)
    return this.#store.release(permits) as Answer<S, void>
  }

  /** Forgets every counter that is charged. */
  reset(charges: readonly Pick<PlannedCharge, 'key' | 'limit' | 'rule'>[]): Answer<S, void> {
    const pending = charges
      .filter(({ rule }) => !rule.unlimited)
      .map(({ key, limit }) => this.#store.reset(key, limit))
      .filter((result) => result instanceof Promise)
    return (pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)) as Answer<S, void>
  }

  #keeps({ limit }: PlannedCharge): boolean {
    return this.#keepsTurns && handsOutTurns(limit)
  }

  #decide(
    charges: readonly PlannedCharge[],
    startedAt: number,
    context: RequestContext | undefined,
    isOpen: boolean,
  ): MaybePromise<Decision> {
    if (charges.length === 1 && charges[0].verdict !== undefined) {
      return this.#report(charges, fold(charges, [charges[0].verdict]), startedAt, context)
    }
    if (charges.length === 1 && this.#sync !== undefined && !charges[0].rule.unlimited && charges[0].debit !== true) {
      const { key, limit, cost } = charges[0]
      return this.#conclude(charges, [this.#sync.decideOne(key, limit, cost)], startedAt, context, isOpen)
    }
    const counted = countedOf(charges)
    if (counted.length === 0) return this.#conclude(charges, NO_VERDICTS, startedAt, context, isOpen)
    const verdicts = this.#store.decide(counted)
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
    const decision = fold(charges, verdicts)
    if (!decision.allowed && this.#again !== undefined) {
      const ask = (counted: readonly PlannedCharge[]): MaybePromise<Acquired> => this.#askVerdicts(counted)
      return then(this.#tryAgain({ charges, startedAt, context, ask, isOpen }, decision), (held) => held.decision)
    }
    if (decision.allowed && this.#payer !== undefined) {
      const dues = duesOf(charges, decision, isOpen)
      if (dues !== undefined) {
        const admitted = { charges, decision, permits: undefined }
        return then(this.#pay(this.#payer, dues, admitted, { startedAt, context, isOpen }), (held) => held.decision)
      }
    }
    return this.#report(charges, decision, startedAt, context)
  }

  #askVerdicts(counted: readonly PlannedCharge[]): MaybePromise<Acquired> {
    return then(this.#store.decide(counted), (verdicts) => ({ verdicts, permits: undefined }))
  }

  /**
   * Answers a request that this worker sheds, and asks about one that the fleet may: its charge goes with the others.
   * Undefined is one that nothing of this is about.
   */
  #shed(asked: Asked, shedder: LoadShedder, priority: Priority): MaybePromise<Held> | undefined {
    const { charges } = asked
    if (charges.length === 1 && charges[0].verdict !== undefined) return undefined
    const shed = shedder.shed(priority)
    if (shed !== undefined) return this.#reportShed(asked, shed)
    const fleet = shedder.fleetCharge(priority)
    if (fleet === undefined) return undefined
    const ask = (counted: readonly PlannedCharge[]): MaybePromise<Answered> =>
      then(asked.ask([...counted, fleet]), ({ verdicts, permits }) => {
        const last = verdicts.length - 1
        const refused = verdicts[last].allowed ? undefined : verdicts[last]
        const byFleet = refused && (() => shedder.fleetShed(fleet, refused, priority))
        return { verdicts: verdicts.slice(0, last), permits, byFleet }
      })
    const withFleet = { ...asked, ask }
    return then(ask(countedOf(charges)), (answer) => this.#hold(withFleet, answer))
  }

  /** Concludes a request that is shed. Its event includes what the request was about. */
  #reportShed({ charges, startedAt, context }: Asked, shed: PlannedCharge): Held {
    const reported = [charges.length === 0 ? shed : { ...shed, domain: charges[0].domain, entries: charges[0].entries }]
    const decision = fold(reported, [shed.verdict as Verdict])
    return { decision: this.#report(reported, decision, startedAt, context), permits: undefined }
  }

  /** Concludes an acquire. A caller without budget is refused for that, whatever the fleet says. */
  #hold(asked: Asked, { verdicts, permits, byFleet }: Answered): MaybePromise<Held> {
    const { charges } = asked
    const decision = fold(charges, verdicts)
    const shed = decision.allowed ? byFleet?.() : undefined
    if (shed !== undefined) return this.#reportShed(asked, shed)
    if (!decision.allowed && this.#again !== undefined) return this.#tryAgain(asked, decision)
    return this.#paid(asked, { charges, decision, permits })
  }

  /** Concludes a decision of the limits: what they admit is paid for, if a rule names a meter. */
  #paid(asked: Asked, admitted: Admitted): MaybePromise<Held> {
    const { charges, decision, permits } = admitted
    const dues = decision.allowed && this.#payer !== undefined ? duesOf(charges, decision, asked.isOpen) : undefined
    if (dues !== undefined && this.#payer !== undefined) return this.#pay(this.#payer, dues, admitted, asked)
    return { decision: this.#report(charges, decision, asked.startedAt, asked.context), permits }
  }

  /** Asks the ledger last. Where it refuses, the limits get back what they took, and the request is reported once. */
  #pay(
    payer: Payer,
    dues: readonly Due[],
    admitted: Admitted,
    asked: Omit<Asked, 'charges' | 'ask'>,
  ): MaybePromise<Held> {
    const { charges, decision, permits } = admitted
    const { startedAt, context, isOpen } = asked
    return then<Paid, Held>(payer.pay(dues, isOpen), (paid) => {
      if (paid.kind === 'paid') {
        return { decision: this.#report(charges, { ...decision, ledger: paid.payment }, startedAt, context), permits }
      }
      const { charge } = dues[paid.at]
      const unpaid = [{ ...charge, rule: unpaidRule(charge.rule, paid.status), verdict: paid.verdict }]
      const refused = fold(unpaid, [paid.verdict])
      return then(this.#giveBack(admitted), () => ({
        decision: this.#report(unpaid, refused, startedAt, context),
        permits: undefined,
      }))
    })
  }

  /** Gives back, without a report, what was charged to a request that no one pays for. */
  #giveBack({ charges, decision, permits }: Admitted): MaybePromise<unknown> {
    const back = isUncharged(charges, decision)
      ? []
      : charges.flatMap((charge, i) => {
          const { allowed, fallback, unasked } = decision.verdicts[i].verdict
          const isTaken = allowed && fallback === undefined && unasked !== true && charge.cost > 0
          if (!isTaken || charge.rule.unlimited || holdsPermits(charge.limit) || this.#keeps(charge)) return []
          return [{ ...charge, cost: -charge.cost, enforce: false }]
        })
    const released = permits === undefined ? undefined : this.#store.release(permits)
    return then(released, () => (back.length === 0 ? undefined : this.#store.decide(back)))
  }

  /** Asks about what else a refused request could be charged on, until something admits it. */
  #tryAgain(asked: Asked, refused: Decision): MaybePromise<Held> {
    const { charges, startedAt, context, ask } = asked
    const isFinal = charges.some(({ verdict }) => verdict !== undefined)
    const verdicts = refused.verdicts.map(({ verdict }) => verdict)
    const attempts = isFinal ? [] : (this.#again?.(charges, verdicts) ?? [])
    const attempt = (at: number): MaybePromise<Held> => {
      if (at === attempts.length) {
        return { decision: this.#report(charges, refused, startedAt, context), permits: undefined }
      }
      const other = attempts[at]
      return then(ask(countedOf(other)), (answer) => {
        const decision = foldGrants(other, answer.verdicts)
        if (!decision.allowed || isWithoutStore(other, decision)) return attempt(at + 1)
        const shed = answer.byFleet?.()
        if (shed !== undefined) return this.#reportShed(asked, shed)
        return this.#paid(asked, { charges: other, decision, permits: answer.permits })
      })
    }
    return attempt(0)
  }

  #report(
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

  #now(): number {
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

const isConcurrency = ({ limit }: Charge): boolean => holdsPermits(limit)

const withoutPermits = (decision: Decision): Held => ({ decision, permits: undefined })

/** What a store was asked about, and how it is asked about something else. */
interface Asked {
  readonly charges: readonly PlannedCharge[]
  readonly startedAt: number
  readonly context: RequestContext | undefined
  readonly ask: (counted: readonly PlannedCharge[]) => MaybePromise<Answered>
  /** The caller will say what the request came to. */
  readonly isOpen: boolean
}

/** What the limits said, and the permits that they gave. */
interface Admitted {
  readonly charges: readonly PlannedCharge[]
  readonly decision: Decision
  readonly permits: HeldPermits | undefined
}

/** What the store said. */
interface Answered extends Acquired {
  /** Set where the fleet has no capacity for the request: it says whether that sheds it, and counts it. */
  readonly byFleet?: (() => PlannedCharge | undefined) | undefined
}

/** Continues with a value, synchronously if it is there. */
function then<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * Like fold, where grants are charged. The verdicts report what is true for the caller: the remaining grant, and when
 * the limit that it replaces has budget again.
 */
function foldGrants(charges: readonly PlannedCharge[], verdicts: readonly Verdict[]): Decision {
  const counted = countedOf(charges)
  return fold(
    charges,
    verdicts.map((verdict, i) => {
      const { grant } = counted[i]
      if (grant === undefined) return verdict
      const { refused, id } = grant
      const resetAfterMs = refused.kind === 'refused' ? refused.retryAfterMs : refused.resetAfterMs
      return { ...verdict, resetAfterMs, grant: id }
    }),
  )
}

/** Whether a grant was not asked about because the store is unavailable: then the earlier refusal stands. */
function isWithoutStore(charges: readonly PlannedCharge[], { verdicts }: Decision): boolean {
  return charges.some(({ grant }, i) => grant !== undefined && verdicts[i].verdict.fallback !== undefined)
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
function countedOf(charges: readonly PlannedCharge[]): readonly PlannedCharge[] {
  return charges.some(({ rule }) => rule.unlimited) ? charges.filter(({ rule }) => !rule.unlimited) : charges
}

/**
 * Folds the store's verdicts and the verdicts of rules without a limit into one decision, in the order of the charges.
 */
function fold(charges: readonly PlannedCharge[], verdicts: readonly Verdict[]): Decision {
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
