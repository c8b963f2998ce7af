import type { Decision } from 'sluice/internal/core/combine'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Held } from 'sluice/internal/engine/decider'
import type { HeldPermits, MaybePromise } from 'sluice/internal/engine/ports'

/** A GatewayLimiter is what the gate needs of the engine. */
export interface GatewayLimiter {
  plan(request: CheckRequest): readonly PlannedCharge[]
  hold(charges: readonly PlannedCharge[], context?: RequestContext): MaybePromise<Held>
  decide(charges: readonly PlannedCharge[]): MaybePromise<Decision>
  settleCharges(charges: readonly PlannedCharge[], decision: Decision, cost: number): MaybePromise<Decision | undefined>
  refundCharges(charges: readonly PlannedCharge[], decision: Decision): MaybePromise<unknown>
  release(permits: HeldPermits): MaybePromise<void>
}
