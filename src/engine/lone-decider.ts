import { combineOne, type Decision } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import { MAX_COUNT } from '../core/limit.ts'
import type { Rule } from '../core/rules/rule-set.ts'
import { chargeOf, isSettleable, type PlannedCharge } from './charge.ts'
import type { Observer } from './observer.ts'
import type { HeldPermits, SyncStore } from './ports.ts'
import { processRenewals } from './renewals.ts'

const ABOUT = { domain: '', entries: [], descriptor: 0 }

/** The verdict about an acquire, and the permits to give back if it was allowed. */
export interface HeldAlone {
  readonly verdict: Verdict
  readonly permits: HeldPermits | undefined
}

/**
 * The part of a Decider that one rule in memory needs, so that an app with nothing else has no more of it: it asks the
 * store about one charge of a rule that enforces, and notifies the observer.
 */
export class LoneDecider {
  readonly #rule: Rule
  readonly #store: SyncStore
  readonly #observer: Observer | undefined

  constructor(rule: Rule, store: SyncStore, observer?: Observer) {
    this.#rule = rule
    this.#store = store
    this.#observer = observer
  }

  /** Returns only the verdict, and allocates nothing without an observer. */
  decide(key: string, cost: number): Verdict {
    if (this.#observer === undefined) return this.#store.decideOne(key, this.#rule.limit, cost)
    const startedAt = performance.now()
    const verdict = this.#store.decideOne(key, this.#rule.limit, cost)
    return this.#report(chargeOf(this.#rule, key, cost, ABOUT), verdict, startedAt)
  }

  /** Settles a charge that was an estimate, see Decider. */
  settle(key: string, verdict: Verdict, charged: number, actual: number): Verdict | undefined {
    const charge = chargeOf(this.#rule, key, charged, ABOUT)
    const more = Math.min(actual, MAX_COUNT) - charged
    if (more === 0 || !isSettleable(charge, verdict)) return undefined
    const late = { ...charge, cost: more, enforce: false, ...(more > 0 && { debit: true }) }
    const startedAt = this.#startedAt()
    return this.#report(late, this.#store.decide([late])[0], startedAt)
  }

  acquire(key: string, cost: number): HeldAlone {
    const charge = chargeOf(this.#rule, key, cost, ABOUT)
    const startedAt = this.#startedAt()
    const { verdicts, permits } = this.#store.acquire([charge])
    return { verdict: this.#report(charge, verdicts[0], startedAt), permits }
  }

  /** keep has what acquire took renewed for as long as the holder can give it back, see Renewals. */
  keep(permits: HeldPermits, holder: object): void {
    processRenewals.keep(this.#store, permits, holder)
  }

  release(permits: HeldPermits): void {
    processRenewals.letGo(this.#store, permits)
    this.#store.release(permits)
  }

  reset(key: string): void {
    this.#store.reset(key, this.#rule.limit)
  }

  #startedAt(): number {
    return this.#observer === undefined ? 0 : performance.now()
  }

  #report(charge: PlannedCharge, verdict: Verdict, startedAt: number): Verdict {
    const observer = this.#observer
    if (observer !== undefined) {
      const decision: Decision = combineOne({ rule: this.#rule, descriptor: 0, verdict })
      observer.decided([charge], decision, performance.now() - startedAt)
    }
    return verdict
  }
}
