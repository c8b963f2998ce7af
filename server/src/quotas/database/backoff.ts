/** A Backoff spaces attempts: each wait is twice the one before, up to a bound, and shortened at random so that nodes do not return together. */
export class Backoff {
  readonly #firstMs: number
  readonly #longestMs: number
  #failures = 0

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs
    this.#longestMs = longestMs
  }

  nextMs(): number {
    const ms = Math.min(this.#firstMs * 2 ** this.#failures, this.#longestMs)
    this.#failures = Math.min(this.#failures + 1, 30)
    return ms / 2 + (Math.random() * ms) / 2
  }

  reset(): void {
    this.#failures = 0
  }
}
