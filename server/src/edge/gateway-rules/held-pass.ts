import type { Decision } from 'sluice/internal/core/combine'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Held } from 'sluice/internal/engine/decider'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { Caller } from 'sluice/internal/http-door/caller'
import { HeldCharges } from 'sluice/internal/http-door/held-charges'
import type { EndKind, Fields, Pass } from '../gateway/gate.ts'
import { CostTap } from './cost-tap.ts'
import type { GatewayLimiter } from './gateway-limiter.ts'
import type { PlannedLimit } from './planned-route.ts'
import type { RequestPlan } from './request-plan.ts'

/**
 * A request on its way through the gateway: what one decision took, or two where some limits had to wait for the body.
 * At its end places are given back, limits that count some statuses only get back what others took, and costs are
 * settled.
 */
export class HeldPass implements Pass {
  readonly kind = 'admitted'
  headers: Fields = []
  /** Undefined where no limit reads the answer: most answers pass unheard. */
  heard?: (piece: Buffer) => void
  readonly caller: Caller
  readonly #limiter: GatewayLimiter
  readonly #failed: (error: unknown) => void
  #plan: RequestPlan | undefined
  #charges: HeldCharges | undefined
  /** What was taken before the body was there. */
  #earlierPlan: RequestPlan | undefined
  #earlier: HeldCharges | undefined
  #taps = NO_TAPS
  /** When the request was let through to its upstream. */
  #startedAt: number | undefined
  #status: number | undefined
  #isGivenUp = false
  #isOver = false
  /** The decision about the limits so far, as callers see it. */
  decided: Decision | undefined

  constructor(limiter: GatewayLimiter, caller: Caller, failed: (error: unknown) => void) {
    this.#limiter = limiter
    this.caller = caller
    this.#failed = failed
  }

  /** What was asked about last. */
  get planned(): readonly PlannedCharge[] {
    return this.#plan?.charges ?? []
  }

  /** Adds what a decision that admits the request took. */
  take(plan: RequestPlan, held: Held, decided: Decision): void {
    this.decided = decided
    this.#earlierPlan = this.#plan
    this.#earlier = this.#charges
    this.#plan = plan
    this.#charges = new HeldCharges(this.#limiter.decider, plan.charges, held)
    this.#taps = withTaps(this.#taps, plan)
    const bodies = this.#taps.size === 0 ? [] : [...this.#taps.values()].filter(({ wantsBody }) => wantsBody)
    if (bodies.length > 0) {
      this.heard = (piece) => {
        for (const tap of bodies) tap.heard(piece)
      }
    }
  }

  /** Marks the start of the request to its upstream: from now on it is load. */
  start(headers: Fields): void {
    this.headers = headers
    const { shedder } = this.#limiter
    if (shedder === undefined) return
    this.#startedAt = performance.now()
    shedder.began()
  }

  responded(status: number, headers: Fields): void {
    this.#status = status
    for (const tap of this.#taps.values()) tap.responded(headers)
  }

  /** Says that the client left before the request went on. */
  giveUp(): void {
    this.#isGivenUp = true
  }

  /** Refunds everything: the request does not continue. */
  undo(): void {
    this.giveUp()
    this.ended('abort')
  }

  ended(kind: EndKind): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#startedAt !== undefined) {
      this.#limiter.shedder?.ended(kind === 'finish' ? performance.now() - this.#startedAt : undefined)
    }
    this.#giveBack(this.#plan, this.#charges, kind)
    this.#giveBack(this.#earlierPlan, this.#earlier, kind)
    // What the ledger keeps is booked last: by now it is known what the request has cost.
    this.#charges?.end(kind !== 'upstream-error')
    this.#earlier?.end(kind !== 'upstream-error')
  }

  #giveBack(plan: RequestPlan | undefined, charges: HeldCharges | undefined, kind: EndKind): void {
    if (plan === undefined || charges === undefined) return
    if (charges.isHolding) this.#later(() => charges.release())
    if (this.#isGivenUp || kind === 'unserved') this.#later(() => charges.refund())
    else for (const limit of new Set(plan.limits)) this.#conclude(plan, charges, limit, kind)
  }

  /**
   * Settles a request for one limit. Where an answer does not report its cost, what was reserved stays, or what was
   * streamed if that is more: a client that leaves before the last event, or does not request the cost, cannot stream
   * for the price of its estimate. An upstream that failed did nothing that costs.
   */
  #conclude(plan: RequestPlan, charges: HeldCharges, limit: PlannedLimit, kind: EndKind): void {
    const isOf = ({ descriptor }: PlannedCharge): boolean => plan.limits[descriptor] === limit
    const status = this.#status
    if (limit.statuses !== undefined && status !== undefined && !limit.statuses.has(status)) {
      this.#later(() => charges.refund(isOf))
      return
    }
    const tap = this.#taps.get(limit)
    if (tap === undefined) return
    const cost = tap.cost()
    const hasFailed = kind !== 'abort' && (status === undefined ? kind === 'upstream-error' : status >= 500)
    if (cost !== undefined && !(hasFailed && kind === 'upstream-error')) this.#later(() => charges.settle(cost, isOf))
    else if (hasFailed) this.#later(() => charges.refund(isOf))
    else if (plan.charges.some((charge) => isOf(charge) && tap.events * (charge.weight ?? 1) > charge.cost)) {
      this.#later(() => charges.settle(tap.events, isOf))
    }
  }

  #later(run: () => MaybePromise<unknown>): void {
    try {
      const done = run()
      if (done instanceof Promise) done.catch(this.#failed)
    } catch (error) {
      this.#failed(error)
    }
  }
}

const NO_TAPS: ReadonlyMap<PlannedLimit, CostTap> = new Map()

function withTaps(
  known: ReadonlyMap<PlannedLimit, CostTap>,
  { limits }: RequestPlan,
): ReadonlyMap<PlannedLimit, CostTap> {
  if (!limits.some(({ settle }) => settle !== undefined)) return known
  const taps = new Map(known)
  for (const limit of limits) if (limit.settle !== undefined) taps.set(limit, new CostTap(limit.settle))
  return taps
}
