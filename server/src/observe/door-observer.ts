import type { Decision } from 'sluice/internal/core/combine'
import type { Entry, RequestContext } from 'sluice/internal/core/request'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import type { Observer } from 'sluice/internal/engine/observer'

/** A way in: Envoy's protocol (gRPC and /json), our own over gRPC, HTTP, or the gateway. */
export type ObservedDoor = 'rls' | 'grpc' | 'http' | 'gateway'

export const OBSERVED_DOORS: readonly ObservedDoor[] = ['rls', 'grpc', 'http', 'gateway']

/** An Observer of all doors. What it does happens on the hot path. */
export interface DoorObserver {
  /** Receives what Observer.decided does, and which door asked. */
  decided?(
    door: ObservedDoor,
    charges: readonly PlannedCharge[],
    decision: Decision,
    ms: number,
    context: RequestContext | undefined,
  ): void
  /** Receives what Observer.aside does. */
  aside?(charges: readonly PlannedCharge[], decision: Decision): void
  unmatched?(domain: string, entries: readonly Entry[], isKnown: boolean): void
}

type Decided = DoorObserver & Required<Pick<DoorObserver, 'decided'>>

const IGNORED: Decided = Object.freeze({ decided: () => {} })

/**
 * Combines several observers of one door. The first four are each called at a separate call site: the compiler then
 * knows the target, which costs less than a loop.
 */
export function observerOf(door: ObservedDoor, observers: readonly DoorObserver[]): Observer {
  const listeners = observers.filter(({ unmatched }) => unmatched !== undefined)
  const deciders = observers.filter((observer): observer is Decided => observer.decided !== undefined)
  const [first = IGNORED, second = IGNORED, third = IGNORED, fourth = IGNORED, ...others] = deciders
  return {
    decided: (charges, decision, ms, context) => {
      first.decided(door, charges, decision, ms, context)
      second.decided(door, charges, decision, ms, context)
      third.decided(door, charges, decision, ms, context)
      fourth.decided(door, charges, decision, ms, context)
      for (let i = 0; i < others.length; i++) others[i].decided(door, charges, decision, ms, context)
    },
    aside: (charges, decision) => {
      for (const observer of observers) observer.aside?.(charges, decision)
    },
    unmatched: (domain, entries, isKnown) => {
      for (const observer of listeners) observer.unmatched?.(domain, entries, isKnown)
    },
  }
}
