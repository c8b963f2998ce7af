/**
 * Holds what one evaluation found: the verdict's fields and the counter's next state. Algorithms are pure functions of
 * (state, limit, now, cost) that write their whole result into the Outcome they are handed and touch nothing else.
 * Handing it in, instead of returning a new object, is what keeps a decision free of allocation.
 */
export class Outcome {
  /** True when the cost fits. A cost of 0 looks: true when one more hit would fit. A cost below 0 always fits. */
  allowed = false
  /** True when the cost is above what the limit can ever admit: waiting never helps. */
  impossible = false
  /** Whole hits that still fit after this evaluation (after the charge, when allowed). */
  remaining = 0
  /**
   * Until the window ends, or the bucket is full, or the last record leaves the log. 0 for an unused counter, unless
   * the cost is impossible: then as if it were in use.
   */
  resetAfterMs = 0
  /** When refused: the first moment, if nothing else happens, at which the same cost is admitted. */
  retryAfterMs = 0
  /** leaky_bucket: admitted, but wait this long before going on. */
  delayMs = 0
  /** How much of a refused cost was charged neither: what countDenied, or a late charge, leaves out. Whole hits. */
  dropped = 0
  /** From this moment on the next state is worth no more than no state at all, so that it may be forgotten. */
  expiresAtMs = Number.NEGATIVE_INFINITY

  /** The next state of an algorithm that keeps up to three numbers. `at` is a time; an unused counter has NEVER. */
  at = NEVER
  first = 0
  second = 0

  /** The next state of a log, as changes: drop the oldest records, move those after `latestMs` back to it, then … */
  dropOldest = 0
  latestMs = 0
  /** … record `push` hits at latestMs (0: none), or take `pop` hits back from the newest. */
  push = 0
  pop = 0
}

/** The time of a counter that has never been used. */
export const NEVER = Number.NEGATIVE_INFINITY
