/** The first pause where a server does not say for how long it refuses. Most limits are for a second. */
const FIRST_PAUSE_MS = 1_000
/** The same where a rate is known already, and was a little too high. */
const SHORT_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 30_000
/** Calls are a little slower than what was accepted: the time of an answer is not the time of a decision. */
const MARGIN = 1.03
/** After this many calls without a refusal, the rate is tried a tenth higher. */
const CLEAN_CALLS = 50
const MOST_REMEMBERED = 1_000

/**
 * Works out the rate that a server accepts but does not announce: what it accepted before it refused, over the time
 * until it accepted again. One refusal is enough; calls are then spread evenly.
 */
export class LearnedRate {
  /** When calls that were accepted since the last refusal were sent. The oldest come first. */
  #acceptedMs: number[] = []
  /**
   * When the first and how many of the calls were sent that led to the last refusal. 0: the rate is known, or nothing
   * is.
   */
  #startMs = 0
  #count = 0
  #refusedMs = -1
  #pauseMs = 0
  #clean = 0
  #nextMs = 0
  /** Between two calls. 0: no rate is known. */
  #gapMs = 0

  /** Returns how long a call waits behind others, as far as is known. */
  waitMs(nowMs: number, ahead = 0): number {
    return Math.max(0, this.#nextMs - nowMs) + ahead * this.#gapMs
  }

  sent(nowMs: number, amount: number): void {
    this.#nextMs = Math.max(this.#nextMs, nowMs) + this.#gapMs * amount
  }

  accepted(sentMs: number): void {
    if (sentMs <= this.#refusedMs) return
    if (this.#count > 0) {
      this.#gapMs = ((sentMs - this.#startMs) / this.#count) * MARGIN
      this.#nextMs = sentMs + this.#gapMs
      this.#count = 0
    }
    this.#acceptedMs.push(sentMs)
    this.#acceptedMs = this.#acceptedMs.slice(-MOST_REMEMBERED)
    if (++this.#clean % CLEAN_CALLS === 0) this.#gapMs *= 0.9
  }

  /**
   * Returns how long to pause after a refusal. It is 0 for a call that was in flight at an earlier refusal and says
   * nothing new. A server that refuses the first call after a pause gets one that is three times as long, so that five
   * retries reach a limit for a minute.
   */
  refused(sentMs: number, nowMs: number, retryAfterMs: number | undefined): number {
    if (sentMs <= this.#refusedMs) return 0
    const recent = this.#acceptedMs.filter((atMs) => atMs > nowMs - Math.max(FIRST_PAUSE_MS, retryAfterMs ?? 0))
    const longerMs = Math.min(3 * this.#pauseMs, LONGEST_PAUSE_MS) || FIRST_PAUSE_MS
    if (recent.length > 0) {
      this.#startMs = recent[0]
      this.#count = recent.length
      this.#pauseMs = this.#gapMs ? SHORT_PAUSE_MS : FIRST_PAUSE_MS
    } else this.#pauseMs = longerMs
    this.#pauseMs = retryAfterMs || this.#pauseMs
    this.#refusedMs = nowMs
    this.#acceptedMs = []
    this.#clean = 0
    return this.#pauseMs
  }
}
