/** The number of retries at the start, which is also the maximum. */
const RESERVE = 10

/**
 * Bounds tries in addition to the first: one for ten requests. An upstream in trouble gets a tenth more requests, and
 * not several times as many.
 */
export class RetryBudget {
  #tokens = RESERVE * 10
  spent = 0

  /** Counts a request. */
  earn(): void {
    if (this.#tokens < RESERVE * 10) this.#tokens++
  }

  /** Takes one more try, if there is one. */
  spend(): boolean {
    if (this.#tokens < 10) return false
    this.#tokens -= 10
    this.spent++
    return true
  }
}
