import type { Decision } from '../core/combine.ts'
import type { PlannedCharge } from './charge.ts'

/** An Observer hears of every decision. What it does happens on the hot path. */
export interface Observer {
  /**
   * decided tells what was asked and answered. `decision.verdicts[i]` is about `charges[i]`; both are empty where no rule
   * applies. A charge below 0 was a refund, one of 0 a look, a `debit` late: its request was
   * heard of before. `ms` is how long it took, the store included.
   */
  decided(charges: readonly PlannedCharge[], decision: Decision, ms: number): void
}
