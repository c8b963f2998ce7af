import type { Decision } from '../core/combine.ts'
import type { Entry, RequestContext } from '../core/request.ts'
import type { PlannedCharge } from './charge.ts'
import type { FaultReason } from './store-fault.ts'

/** Receives every decision. It runs on the hot path. */
export interface Observer {
  /**
   * Receives what was asked and answered. `decision.verdicts[i]` is about `charges[i]`; both are empty where no rule
   * applies. A charge below 0 was a refund, one of 0 a look, a `debit` late: its request was reported before. `ms` is
   * how long it took, including the store; `context` is what the door knows of the request.
   */
  decided(charges: readonly PlannedCharge[], decision: Decision, ms: number, context?: RequestContext): void
  /** Receives what was counted without being a request, such as refusals that lead to a block. */
  aside?(charges: readonly PlannedCharge[], decision: Decision): void
  /**
   * Receives a descriptor that no rule applies to, so that it is not limited. For a domain that no rules define
   * (`isKnown` is false) it is called once per request, with the entries of the first descriptor.
   */
  unmatched?(domain: string, entries: readonly Entry[], isKnown: boolean): void
  /**
   * Redis: receives how long decisions wait for a server where nothing sets it. It is called when the server is known,
   * and at every change.
   */
  deadlineChanged?(shard: string, timeoutMs: number): void
  /** Redis: receives each decision that was made without a server, by what its rule did, and why. */
  fellBack?(mode: 'open' | 'closed' | 'local', reason: FaultReason, shard: string): void
}
