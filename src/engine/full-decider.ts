import type { Decision } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import type { LedgerHold } from '../core/ledger-note.ts'
import { holdsPermits } from '../core/limit.ts'
import type { RequestContext } from '../core/request.ts'
import type { Priority } from '../core/shedding/priority.ts'
import type { PlannedCharge } from './charge.ts'
import {
  type Answer,
  type Answered,
  type Asked,
  chain,
  countedOf,
  Decider,
  type DeciderParts,
  fold,
  type Held,
  isConcurrency,
  isUncharged,
} from './decider.ts'
import type { LoadShedder } from './load-shedder.ts'
import type { Observer } from './observer.ts'
import { type Due, duesOf, type Paid, type Payer, unpaidRule } from './payer.ts'
import type { Acquired, HeldPermits, MaybePromise, Store } from './ports.ts'

/** Says how else a request that was refused may be charged: lists of charges, to be tried one after the other. */
export type AskAgain = (
  charges: readonly PlannedCharge[],
  verdicts: readonly Verdict[],
) => readonly (readonly PlannedCharge[])[]

/** What a FullDecider needs in addition to what a Decider does. */
export interface FullDeciderParts extends DeciderParts {
  readonly again?: AskAgain | undefined
  readonly shedder?: LoadShedder | undefined
  /** Pays for what rules with a meter admit. Default: there is none, and no such rule. */
  readonly payer?: Payer | undefined
}

/**
 * A Decider with what comes before and after the limits: requests that are shed, grants for those that are refused, and
 * a ledger that pays for those that are admitted.
 */
export class FullDecider<S extends Store> extends Decider<S> {
  readonly #again: AskAgain | undefined
  readonly #shedder: LoadShedder | undefined
  readonly #payer: Payer | undefined

  constructor(store: S, observer?: Observer, parts: FullDeciderParts = {}) {
    super(store, observer, parts)
    this.#again = parts.again
    this.#shedder = parts.shedder
    this.#payer = parts.payer
  }

  override decide(
    charges: readonly PlannedCharge[],
    context?: RequestContext,
    priority?: Priority,
    isOpen = false,
  ): Answer<S, Decision> {
    if (priority !== undefined && this.#shedder !== undefined) {
      const ask = (counted: readonly PlannedCharge[]): MaybePromise<Acquired> => this.#askVerdicts(counted)
      const asked = { charges, startedAt: this.now(), context, ask, isOpen }
      const held = this.#shed(asked, this.#shedder, priority)
      if (held !== undefined) return chain(held, ({ decision }) => decision) as Answer<S, Decision>
    }
    return super.decide(charges, context, priority, isOpen)
  }

  override acquire(
    charges: readonly PlannedCharge[],
    context?: RequestContext,
    priority?: Priority,
    isOpen = false,
  ): Answer<S, Held> {
    if (priority !== undefined && this.#shedder !== undefined) {
      const takes = charges.some(isConcurrency)
      const ask = (counted: readonly PlannedCharge[]): MaybePromise<Acquired> =>
        takes ? this.store.acquire(counted) : this.#askVerdicts(counted)
      const asked = { charges, startedAt: this.now(), context, ask, isOpen }
      const held = this.#shed(asked, this.#shedder, priority)
      if (held !== undefined) return held as Answer<S, Held>
    }
    return super.acquire(charges, context, priority, isOpen)
  }

  override commit(hold: LedgerHold, used: number, before?: number): MaybePromise<boolean> {
    return this.#payer?.commit(hold, used, before) ?? false
  }

  protected override concluded(
    charges: readonly PlannedCharge[],
    decision: Decision,
    startedAt: number,
    context: RequestContext | undefined,
    isOpen: boolean,
  ): MaybePromise<Decision> {
    if (!decision.allowed && this.#again !== undefined) {
      const ask = (counted: readonly PlannedCharge[]): MaybePromise<Acquired> => this.#askVerdicts(counted)
      return chain(this.#tryAgain({ charges, startedAt, context, ask, isOpen }, decision), (held) => held.decision)
    }
    if (decision.allowed && this.#payer !== undefined) {
      const dues = duesOf(charges, decision, isOpen)
      if (dues !== undefined) {
        const admitted = { charges, decision, permits: undefined }
        return chain(this.#pay(this.#payer, dues, admitted, { startedAt, context, isOpen }), (held) => held.decision)
      }
    }
    return this.report(charges, decision, startedAt, context)
  }

  #askVerdicts(counted: readonly PlannedCharge[]): MaybePromise<Acquired> {
    return chain(this.store.decide(counted), (verdicts) => ({ verdicts, permits: undefined }))
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
      chain(asked.ask([...counted, fleet]), ({ verdicts, permits }) => {
        const last = verdicts.length - 1
        const refused = verdicts[last].allowed ? undefined : verdicts[last]
        const byFleet = refused && (() => shedder.fleetShed(fleet, refused, priority))
        return { verdicts: verdicts.slice(0, last), permits, byFleet }
      })
    const withFleet = { ...asked, ask }
    return chain(ask(countedOf(charges)), (answer) => this.hold(withFleet, answer))
  }

  /** Concludes a request that is shed. Its event includes what the request was about. */
  #reportShed({ charges, startedAt, context }: Asked, shed: PlannedCharge): Held {
    const reported = [charges.length === 0 ? shed : { ...shed, domain: charges[0].domain, entries: charges[0].entries }]
    const decision = fold(reported, [shed.verdict as Verdict])
    return { decision: this.report(reported, decision, startedAt, context), permits: undefined }
  }

  /** Concludes an acquire. A caller without budget is refused for that, whatever the fleet says. */
  protected override hold(asked: Asked, { verdicts, permits, byFleet }: Answered): MaybePromise<Held> {
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
    return { decision: this.report(charges, decision, asked.startedAt, asked.context), permits }
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
    return chain<Paid, Held>(payer.pay(dues, isOpen), (paid) => {
      if (paid.kind === 'paid') {
        return { decision: this.report(charges, { ...decision, ledger: paid.payment }, startedAt, context), permits }
      }
      const { charge } = dues[paid.at]
      const unpaid = [{ ...charge, rule: unpaidRule(charge.rule, paid.status), verdict: paid.verdict }]
      const refused = fold(unpaid, [paid.verdict])
      return chain(this.#giveBack(admitted), () => ({
        decision: this.report(unpaid, refused, startedAt, context),
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
          if (!isTaken || charge.rule.unlimited || holdsPermits(charge.limit) || this.keeps(charge)) return []
          return [{ ...charge, cost: -charge.cost, enforce: false }]
        })
    const released = permits === undefined ? undefined : this.store.release(permits)
    return chain(released, () => (back.length === 0 ? undefined : this.store.decide(back)))
  }

  /** Asks about what else a refused request could be charged on, until something admits it. */
  #tryAgain(asked: Asked, refused: Decision): MaybePromise<Held> {
    const { charges, startedAt, context, ask } = asked
    const isFinal = charges.some(({ verdict }) => verdict !== undefined)
    const verdicts = refused.verdicts.map(({ verdict }) => verdict)
    const attempts = isFinal ? [] : (this.#again?.(charges, verdicts) ?? [])
    const attempt = (at: number): MaybePromise<Held> => {
      if (at === attempts.length) {
        return { decision: this.report(charges, refused, startedAt, context), permits: undefined }
      }
      const other = attempts[at]
      return chain(ask(countedOf(other)), (answer) => {
        const decision = foldGrants(other, answer.verdicts)
        if (!decision.allowed || isWithoutStore(other, decision)) return attempt(at + 1)
        const shed = answer.byFleet?.()
        if (shed !== undefined) return this.#reportShed(asked, shed)
        return this.#paid(asked, { charges: other, decision, permits: answer.permits })
      })
    }
    return attempt(0)
  }
}

/** What the limits said, and the permits that they gave. */
interface Admitted {
  readonly charges: readonly PlannedCharge[]
  readonly decision: Decision
  readonly permits: HeldPermits | undefined
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
