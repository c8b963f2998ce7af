import type { Decision, RuleVerdict } from '../core/combine.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import type { Decider, Held } from '../engine/decider.ts'
import { andThen } from '../engine/maybe.ts'
import type { HeldPermits, MaybePromise, Store } from '../engine/ports.ts'

/** A Settler gives back what a decision took. A Decider is one. */
export type Settler = Pick<Decider<Store>, 'settle' | 'settledCharges' | 'refund' | 'keep' | 'letGo' | 'release'>

/** An OfLimit picks some of the charges of a request, such as those of one limit. */
export type OfLimit = (charge: PlannedCharge) => boolean

/**
 * HeldCharges is what one request took, from the decision that admitted it until its end, at every HTTP door: settled to what it
 * has cost, refunded, and its places released. Each charge is given back at most once, and places once, whatever a door
 * calls in which order. Places are renewed for as long as this object can give them back.
 */
export class HeldCharges {
  readonly #settler: Settler
  readonly decision: Decision
  /** What was asked about; the decision has a verdict for each. */
  readonly planned: readonly PlannedCharge[]
  /** What of the decision can still be given back, as far as is known by now; verdicts by position. */
  #charges: readonly PlannedCharge[]
  #verdicts: readonly RuleVerdict[]
  #permits: HeldPermits | undefined

  constructor(settler: Settler, charges: readonly PlannedCharge[], { decision, permits }: Held) {
    this.#settler = settler
    this.decision = decision
    this.planned = charges
    this.#charges = charges
    this.#verdicts = decision.verdicts
    this.#permits = permits !== undefined && permits.held.length > 0 ? permits : undefined
    if (this.#permits !== undefined) settler.keep(this.#permits, this)
  }

  /** Whether it holds places. */
  get isHolding(): boolean {
    return this.#permits !== undefined
  }

  /**
   * settle takes what a request has cost in the end, where its cost was an estimate. It may be called again when more is
   * known. It returns undefined where there is nothing to do: see Decider.settle.
   */
  settle(cost: number, of?: OfLimit): MaybePromise<Decision | undefined> {
    const charges = this.#charges
    if (charges.length === 0) return undefined
    const decision = { ...this.decision, verdicts: this.#verdicts }
    if (of === undefined) {
      // What is refunded while this is in flight is what it comes to.
      this.#charges = this.#settler.settledCharges(charges, decision, cost)
      return this.#settler.settle(charges, decision, cost)
    }
    const [chosen, verdicts] = this.#chosen(of)
    if (chosen.length === 0) return undefined
    const part = { ...decision, verdicts }
    const settled = this.#settler.settledCharges(chosen, part, cost)
    this.#charges = charges.map((charge) => settled[chosen.indexOf(charge)] ?? charge)
    return this.#settler.settle(chosen, part, cost)
  }

  /** refund gives back what was taken. What is refunded is settled no more. */
  refund(of?: OfLimit): MaybePromise<void> {
    const [charges, verdicts] = of === undefined ? [this.#charges, this.#verdicts] : this.#chosen(of)
    if (charges.length === 0) return undefined
    const isKept = of === undefined ? [] : this.#charges.map((charge) => !of(charge))
    this.#charges = this.#charges.filter((_, i) => isKept[i])
    this.#verdicts = this.#verdicts.filter((_, i) => isKept[i])
    return andThen(this.#settler.refund(charges, { ...this.decision, verdicts }), () => undefined)
  }

  /** letGo has places renewed no longer: they come back when their time is over, or at the end. */
  letGo(): void {
    if (this.#permits !== undefined) this.#settler.letGo(this.#permits)
  }

  /** release gives places back. */
  release(): MaybePromise<void> {
    const permits = this.#permits
    this.#permits = undefined
    return permits === undefined ? undefined : this.#settler.release(permits)
  }

  #chosen(of: OfLimit): readonly [readonly PlannedCharge[], readonly RuleVerdict[]] {
    const isChosen = this.#charges.map(of)
    return [this.#charges.filter((_, i) => isChosen[i]), this.#verdicts.filter((_, i) => isChosen[i])]
  }
}
