import type { PeriodCalendar } from './period-calendar.ts'

/** Terms are what a meter and the plan of a customer say now. */
export interface Terms {
  readonly calendar: PeriodCalendar
  /** Issued at the start of each period. */
  readonly allowance: number
  /**
   * How much of an allowance that was not used is carried over, at most, and for how many periods it stays. 0: none.
   */
  readonly carry: { readonly most: number; readonly periods: number }
  /** For how long after its end a period takes late events. */
  readonly graceMs: number
  /** How far an account may go below zero. 0: not at all. */
  readonly overdraft: number
  /** For how long a hold lasts, where the caller does not say. */
  readonly holdMs: number
}
