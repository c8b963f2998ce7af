import type { Decision } from 'sluice/internal/core/combine'
import type { Verdict } from 'sluice/internal/core/decision'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Held } from 'sluice/internal/engine/decider'
import type { LoadShedder } from 'sluice/internal/engine/load-shedder'
import type { HeldPermits, MaybePromise } from 'sluice/internal/engine/ports'

/** A GatewayLimiter is what the gate needs of the engine. */
export interface GatewayLimiter {
  plan(request: CheckRequest): readonly PlannedCharge[]
  hold(charges: readonly PlannedCharge[], context?: RequestContext, priority?: Priority): MaybePromise<Held>
  /** What sheds load, and wants to know what is under way. */
  readonly shedder?: Pick<LoadShedder, 'began' | 'ended' | 'shedUpstream'> | undefined
  decide(charges: readonly PlannedCharge[]): MaybePromise<Decision>
  /** conclude tells of a request what was found by looking. */
  conclude(charges: readonly PlannedCharge[], verdicts: readonly Verdict[], context?: RequestContext): Decision
  settleCharges(charges: readonly PlannedCharge[], decision: Decision, cost: number): MaybePromise<Decision | undefined>
  refundCharges(charges: readonly PlannedCharge[], decision: Decision): MaybePromise<unknown>
  /** keep has places renewed for as long as their holder can give them back. */
  keep(permits: HeldPermits, holder: object): void
  release(permits: HeldPermits): MaybePromise<void>
}
