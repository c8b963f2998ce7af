import type { Decision } from '../core/combine.ts'
import type { Entry, RequestContext } from '../core/request.ts'
import type { PlannedCharge } from './charge.ts'

/** An Observer hears of every decision. What it does happens on the hot path. */
export interface Observer {
  /**
   * decided tells what was asked and answered. `decision.verdicts[i]` is about `charges[i]`; both are empty where no rule
   * applies. A charge below 0 was a refund, one of 0 a look, a `debit` late: its request was
   * heard of before. `ms` is how long it took, the store included; `context` is what the door knows of the request.
   */
  decided(charges: readonly PlannedCharge[], decision: Decision, ms: number, context?: RequestContext): void
  /** aside reports what was counted beside requests, such as refusals that lead to a block: no request, and no look of a caller. */
  aside?(charges: readonly PlannedCharge[], decision: Decision): void
  /**
   * unmatched tells of a descriptor that no rule applies to, so that it is not limited. Of a domain that no rules define
   * (`isKnown` is false) it tells once for each request, with the entries of the first descriptor.
   */
  unmatched?(domain: string, entries: readonly Entry[], isKnown: boolean): void
}
