import type { Limit } from '../../core/limit.ts'

/** A caller's second request, and a few more, are answered without a trip: a hundredth of the limit, but … */
const FIRST_SHARE = 100
const MIN_FIRST = 8
const MAX_FIRST = 100
/** A slice should last this long at the recent pace, and what was spent is reported this often … */
const MAX_REPORT_MS = 2_000
/** … nor longer than this part of a window: what is spent in one window and reported in the next counts twice. */
const WINDOW_PARTS = 20
const MIN_REPORT_MS = 25
/** How much more than before a slice asks for, at most. */
const MAX_GROWTH = 8

/** Returns how long a slice of a limit should last, and how often what was spent is reported. */
export function reportMsOf(limit: Limit, syncMs: number | undefined): number {
  return syncMs ?? Math.min(Math.max(limit.windowMs / WINDOW_PARTS, MIN_REPORT_MS), MAX_REPORT_MS)
}

/**
 * Follows how fast a slice is spent, and determines how much to ask for in advance. The lender reduces that to a share
 * of the remaining budget, so that near the limit nothing is lent ahead and every request is decided individually.
 */
export class SliceSize {
  #capacity: number
  #target: number
  #goal = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  #spentThen = 0
  /** How long a slice should last, and how often what was spent is reported. */
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
   * Returns how much to ask for in addition to what is in hand and what waits: what comes in the time that a slice
   * should last, at the pace since the last request. If asked again soon, it asks for at least twice as much and at
   * most eight times the previous amount, or what waits: a few simultaneous requests are not yet a pace, but the number
   * of waiting ones must not grow.
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

  /** Returns what to ask for as long as nothing is known. */
  get #first(): number {
    return Math.min(Math.max(this.#capacity / FIRST_SHARE, MIN_FIRST), MAX_FIRST)
  }

  /** Learns what there was: asking again before half of that is gone would bring no more. */
  got(inHand: number): void {
    this.#goal = Math.min(inHand, this.#target)
  }

  isLow(inHand: number): boolean {
    return this.#goal > 1 && inHand < this.#goal / 2
  }
}
