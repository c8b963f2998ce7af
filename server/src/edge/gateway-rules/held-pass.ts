import type { Decision } from 'sluice/internal/core/combine'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Held } from 'sluice/internal/engine/decider'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { EndKind, Fields, Pass } from '../gateway/gate.ts'
import { CostTap } from './cost-tap.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import type { PlannedLimit } from './planned-route.ts'
import type { RequestPlan } from './request-plan.ts'

export interface HeldPassParts {
  readonly limiter: GatewayLimiter
  readonly plan: RequestPlan
  readonly held: Held
  readonly fields: Fields
  readonly failed: (error: unknown) => void
}

/**
 * HeldPass is a request on its way: the places that it holds, and what it was charged. At its end places are given back,
 * limits that count some statuses only get back what others took, and costs are settled.
 */
export class HeldPass implements Pass {
  readonly kind = 'admitted'
  readonly headers: Fields
  /** Undefined where nobody listens: most answers pass unheard. */
  readonly heard?: (piece: Buffer) => void
  readonly #parts: HeldPassParts
  readonly #taps: ReadonlyMap<PlannedLimit, CostTap>
  readonly #startedAt: number
  #status: number | undefined
  #isGivenUp = false
  #isOver = false

  constructor(parts: HeldPassParts) {
    this.#parts = parts
    this.headers = parts.fields
    this.#taps = tapsOf(parts.plan)
    const { permits } = parts.held
    if (permits !== undefined) parts.limiter.keep(permits, this)
    const { shedder } = parts.limiter
    // Nobody else asks for the time.
    this.#startedAt = shedder === undefined ? 0 : performance.now()
    shedder?.began()
    const bodies = [...this.#taps.values()].filter(({ wantsBody }) => wantsBody)
    if (bodies.length > 0) {
      this.heard = (piece) => {
        for (const tap of bodies) tap.heard(piece)
      }
    }
  }

  responded(status: number, headers: Fields): void {
    this.#status = status
    for (const tap of this.#taps.values()) tap.responded(headers)
  }

  /** giveUp says that the client left before the request went on. */
  giveUp(): void {
    this.#isGivenUp = true
  }

  /** undo gives everything back: the request does not go on. */
  undo(): void {
    this.giveUp()
    this.ended('abort')
  }

  ended(kind: EndKind): void {
    if (this.#isOver) return
    this.#isOver = true
    const { limiter, held, plan } = this.#parts
    const { permits } = held
    limiter.shedder?.ended(kind === 'finish' ? performance.now() - this.#startedAt : undefined)
    if (permits !== undefined && permits.held.length > 0) this.#later(() => limiter.release(permits))
    if (this.#isGivenUp || kind === 'unserved')
      this.#later(() =>
        this.#some(
          () => true,
          (charges, decision) => limiter.refundCharges(charges, decision),
        ),
      )
    else for (const limit of new Set(plan.limits)) this.#conclude(limit, kind)
  }

  /** #conclude takes what is known of a request for one limit. What is not known stays as it was charged. */
  #conclude(limit: PlannedLimit, kind: EndKind): void {
    const { limiter, plan } = this.#parts
    const isOf = ({ descriptor }: PlannedCharge): boolean => plan.limits[descriptor] === limit
    const isFree = limit.statuses !== undefined && this.#status !== undefined && !limit.statuses.has(this.#status)
    const tap = this.#taps.get(limit)
    // An upstream that did not answer did nothing that costs.
    if (isFree || (tap !== undefined && kind === 'upstream-error' && (this.#status ?? 502) >= 502)) {
      this.#later(() => this.#some(isOf, (charges, decision) => limiter.refundCharges(charges, decision)))
      return
    }
    const cost = tap?.cost()
    if (cost === undefined) return
    this.#later(() => this.#some(isOf, (charges, decision) => limiter.settleCharges(charges, decision, cost)))
  }

  /** #some runs something about some of the charges, with their part of the decision. */
  #some(
    is: (charge: PlannedCharge) => boolean,
    run: (charges: readonly PlannedCharge[], decision: Decision) => MaybePromise<unknown>,
  ): MaybePromise<unknown> {
    const { plan, held } = this.#parts
    const chosen = plan.charges.map(is)
    const charges = plan.charges.filter((_, i) => chosen[i])
    const verdicts = held.decision.verdicts.filter((_, i) => chosen[i])
    return charges.length === 0 ? undefined : run(charges, { ...held.decision, verdicts })
  }

  #later(run: () => MaybePromise<unknown>): void {
    const { failed } = this.#parts
    try {
      const done = run()
      if (done instanceof Promise) done.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

const NO_TAPS: ReadonlyMap<PlannedLimit, CostTap> = new Map()

function tapsOf({ limits }: RequestPlan): ReadonlyMap<PlannedLimit, CostTap> {
  if (!limits.some(({ settle }) => settle !== undefined)) return NO_TAPS
  const taps = new Map<PlannedLimit, CostTap>()
  for (const limit of limits) if (limit.settle !== undefined) taps.set(limit, new CostTap(limit.settle))
  return taps
}
