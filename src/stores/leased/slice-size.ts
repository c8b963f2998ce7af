import type { Limit } from '../../core/limit.ts'

/** A caller's second request, and a few more, are answered without a trip: a hundredth of the limit, but … */
const FIRST_SHARE = 100
const MIN_FIRST = 8
const MAX_FIRST = 100
/** A slice is meant to last this long, at the pace of the time before, and what was spent is told this often … */
const MAX_REPORT_MS = 2_000
/** … nor longer than this part of a window: what is spent in one window and told in the next counts twice. */
const WINDOW_PARTS = 20
const MIN_REPORT_MS = 25
/** How much more a slice asks for than before, at the most. */
const MAX_GROWTH = 8

/** reportMsOf is how long a slice of a limit is meant to last, and how often what was spent is told. */
export function reportMsOf(limit: Limit, syncMs: number | undefined): number {
  return syncMs ?? Math.min(Math.max(limit.windowMs / WINDOW_PARTS, MIN_REPORT_MS), MAX_REPORT_MS)
}

/**
 * A SliceSize follows how fast a slice is spent, and says how much to ask for in advance. The lender cuts that down to a
 * share of what is left, so that near the limit nothing is lent ahead and every request is decided by itself.
 */
export class SliceSize {
  #capacity: number
  #target: number
  #goal = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  #spentThen = 0
  /** How long a slice is meant to last, and how often what was spent is told. */
  readonly reportMs: number

  constructor(limit: Limit, syncMs: number | undefined) {
    this.#capacity = limit.capacity
    this.#target = this.#first
    this.reportMs = reportMsOf(limit, syncMs)
  }

  change(limit: Limit): void {
    this.#capacity = limit.capacity
    this.#goal = 0
  }

  /**
   * ahead returns how much to ask for beside what is in hand and what waits: what comes in the time that a slice is meant to
   * last, at the pace since it asked before. Asked again soon, it asks for at least twice as much, and for at most eight times
   * what it was, or what waits: a few requests at once are no pace yet, but the number of those that wait must not grow.
   */
  ahead(spent: number, inHand: number, waiting: number, nowMs: number): number {
    const elapsedMs = nowMs - this.#askedAtMs
    const come = Math.max(0, spent - this.#spentThen) + waiting
    const expected = (come * this.reportMs) / Math.max(elapsedMs, 1)
    const isSoon = elapsedMs < this.reportMs / 2
    if (isSoon)
      this.#target = Math.min(Math.max(2 * this.#target, expected), MAX_GROWTH * Math.max(this.#target, waiting))
    else if (elapsedMs < Number.POSITIVE_INFINITY) this.#target = expected
    this.#target = Math.min(Math.max(this.#target, waiting, this.#first), this.#capacity)
    this.#askedAtMs = nowMs
    this.#spentThen = spent
    return Math.max(0, Math.floor(this.#target) - Math.max(0, inHand - waiting))
  }

  /** #first is what to ask for as long as nothing is known. */
  get #first(): number {
    return Math.min(Math.max(this.#capacity / FIRST_SHARE, MIN_FIRST), MAX_FIRST)
  }

  /** got learns what there was: asking again before half of that is gone would bring no more. */
  got(inHand: number): void {
    this.#goal = Math.min(inHand, this.#target)
  }

  isLow(inHand: number): boolean {
    return this.#goal > 1 && inHand < this.#goal / 2
  }
}
