import type { Decision } from 'sluice/internal/core/combine'
import type { LedgerHold } from 'sluice/internal/core/ledger-note'
import type { CheckRequest, RequestContext } from 'sluice/internal/core/request'
import type { Held } from 'sluice/internal/engine/decider'
import type { Reserved } from 'sluice/internal/engine/limiter'
import type { HeldPermits, MaybePromise, Renewal } from 'sluice/internal/engine/ports'

/** What a door needs of the engine to check requests. */
export interface Checker {
  check(request: CheckRequest, context?: RequestContext): MaybePromise<Decision>
}

/** What a door needs of the engine to hand out places as well. */
export interface LimiterPort extends Checker {
  acquire(request: CheckRequest, context?: RequestContext): MaybePromise<Held>
  renew(leases: readonly HeldPermits[]): MaybePromise<readonly Renewal[]>
  release(lease: HeldPermits): MaybePromise<void>
}

/** What a door needs of the engine to take costs that are known afterwards as well. */
export interface ReservingPort extends LimiterPort {
  /** Like check with an estimate; `charged` is what settleReserved is to settle. */
  reserve(request: CheckRequest, context?: RequestContext): Promise<Reserved>
  /** Settles once: it says whether it did. */
  settleReserved(
    request: CheckRequest,
    charged: readonly string[],
    id: string,
    cost: number,
    holds: readonly LedgerHold[],
  ): Promise<boolean>
}
