import { type Entries, FREED, NONE, Standing, standingOf } from './entries.ts'

/** How many entries a new key looks at to find a place; and how many while all of them are being refused. */
export const LOOKED_AT = 8
export const MAX_LOOKED_AT = 64
/** More than any expiry: standings weigh first. */
const PER_STANDING = 2 ** 47

/** Circles over the entries, a few at a time, and finds entries that can be evicted. */
export class Hand {
  readonly #entries: Entries
  #at = 0

  constructor(entries: Entries) {
    this.#entries = entries
  }

  turn(by: number): void {
    this.#at += by
    if (this.#at >= this.#entries.size) this.#at = 0
  }

  /** Returns the entry that is `offset` after the hand. */
  under(offset: number): number {
    return (this.#at + offset) % this.#entries.size
  }

  /**
   * Returns the entry, of the next few under the hand, whose loss matters least: an expired one, else the one that has
   * used the least of its budget, and among equals the one that is whole again soonest. Usage weighs first, or else a
   * flood on a long window would buy fresh budgets on a short one. It looks at more entries only while every one that
   * it meets is being refused, and returns NONE when that continues.
   */
  placeToVacate(nowMs: number): number {
    let best = NONE
    let bestScore = Number.POSITIVE_INFINITY
    for (let seen = 0; seen < (best === NONE ? MAX_LOOKED_AT : LOOKED_AT); seen++) {
      const id = this.under(seen)
      const expiry = this.#entries.expiry(id)
      if (expiry === FREED) continue
      if (expiry <= nowMs) return id
      const standing = standingOf(expiry)
      const score = expiry + standing * PER_STANDING
      if (standing === Standing.Refused || score >= bestScore) continue
      best = id
      bestScore = score
    }
    return best
  }
}
