/** How many retries may be saved up. */
const MOST_SAVED = 100

/** RetryBudget keeps retries to a share of the calls, so that a server in trouble is not sent a multiple of its load. */
export class RetryBudget {
  #left = MOST_SAVED

  /** called makes room for so many retries. */
  called(share: number): void {
    this.#left = Math.min(MOST_SAVED, this.#left + share)
  }

  /** take says whether there is room for one retry, and uses it. */
  take(): boolean {
    return this.#left >= 1 && this.#left-- > 0
  }
}

const FIRST_MS = 500
const LONGEST_MS = 30_000

/** backoffMs is exponential backoff with full jitter: anything up to what doubles with each attempt. */
export function backoffMs(attempt: number, random: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16)) * random
}

const JITTER = 0.1
const MOST_JITTER_MS = 1_000

/** jittered adds a little to what the server told, so that all who were told the same do not come together. */
export function jittered(ms: number, random: number): number {
  return ms + Math.min(ms * JITTER, MOST_JITTER_MS) * random
}
