/** How many retries may be saved up. */
const MOST_SAVED = 100

/** Keeps retries to a share of the calls, so that a server in trouble is not sent a multiple of its load. */
export class RetryBudget {
  #left = MOST_SAVED

  /** Adds this many retries to the allowance. */
  called(share: number): void {
    this.#left = Math.min(MOST_SAVED, this.#left + share)
  }

  /** Returns whether there is room for one retry, and uses it. */
  take(): boolean {
    return this.#left >= 1 && this.#left-- > 0
  }
}

const JITTER = 0.1
const MOST_JITTER_MS = 1_000

/** Adds a little to the server's delay, so that clients with the same delay do not return together. */
export function jittered(ms: number, random: number): number {
  return ms + Math.min(ms * JITTER, MOST_JITTER_MS) * random
}
