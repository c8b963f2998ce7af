/** The options of Gradient2 in Netflix's concurrency-limits, with its defaults. */
export interface GradientOptions {
  /** Default: 20. */
  readonly initial?: number
  /** Default: 20. */
  readonly min?: number
  /** Default: 200. */
  readonly max?: number
  /** Requests that may queue without a lower limit. Default: 4. */
  readonly queue?: number | ((limit: number) => number)
  /** How much slower than usual is still usual. Default: 1.5. */
  readonly tolerance?: number
  /** The weight of what is new. Default: 0.2. */
  readonly smoothing?: number
  /** The weight of what is new where it is lower. Default: `smoothing`. */
  readonly fall?: number
  /**
   * The limit grows by this factor while it is nearly full and requests take no longer: from the start on until they
   * do, and again after four such samples. Default: 1.
   */
  readonly rise?: number
  /**
   * What requests take while the limit is used does not count as usual: they may be slow because they are many. So a
   * long overload does not become the usual state. Default: false, as Gradient2.
   */
  readonly holds?: boolean
  /**
   * Of the first samples of a limit that is used, the shortest is the usual one, and not their mean: a start in the
   * middle of an overload does not make it the usual state. Default: false.
   */
  readonly learnsLeast?: boolean
}

const WARM_UP = 10
const WINDOW = 600
/** Times that are this much longer than usual end the fast growth; this many samples in a row without begin it. */
const SLOWER = 1.1
const RISE_AFTER = 4
/** The share of the limit that is nearly all of it: what matters least may fill no more than 0.6. */
const FULL = 0.55

/**
 * Finds how many concurrent requests something can serve, from how long they take: `limit · g + queue`, smoothed, where
 * `g = max(0.5, min(1, tolerance · long / short))`. `short` is the current time; `long` the mean of the first 10, then
 * an average that decays over 600. If less than half of the limit is used, its effect is unknown and it stays.
 */
export class GradientLimit {
  readonly #min: number
  readonly #max: number
  readonly #queue: (limit: number) => number
  readonly #tolerance: number
  readonly #smoothing: number
  readonly #fall: number
  readonly #rise: number
  readonly #holds: boolean
  readonly #learnsLeast: boolean
  /** Samples of a limit that is nearly full, without a slow one. */
  #fullSamples = RISE_AFTER
  #estimated: number
  #longMs = 0
  #count = 0

  constructor(options: GradientOptions = {}) {
    const { initial = 20, min = 20, max = 200, queue = 4, tolerance = 1.5, smoothing = 0.2 } = options
    const { fall = smoothing, rise = 1, holds = false, learnsLeast = false } = options
    this.#min = min
    this.#max = max
    this.#queue = typeof queue === 'number' ? () => queue : queue
    this.#tolerance = tolerance
    this.#smoothing = smoothing
    this.#rise = rise
    this.#holds = holds
    this.#learnsLeast = learnsLeast
    this.#fall = fall
    this.#estimated = initial
  }

  /** How many requests may be in flight. */
  get limit(): number {
    return Math.floor(this.#estimated)
  }

  /** The most that the limit may become. */
  get max(): number {
    return this.#max
  }

  /** Has the limit begin at a number of requests, if that is more than it is. */
  startAt(inFlight: number): void {
    this.#estimated = Math.max(this.#estimated, Math.min(this.#max, inFlight))
  }

  /** What a request takes usually, in milliseconds. */
  get longMs(): number {
    return this.#longMs
  }

  /** Adds a sample: how long requests take now, and how many were in flight. */
  sample(shortMs: number, inFlight: number): void {
    if (!(shortMs > 0)) return
    const isUsed = inFlight >= this.#estimated / 2
    const longMs = this.#learn(shortMs, isUsed)
    // After a bad time, the average is too high for long: it comes down faster.
    if (longMs / shortMs > 2) this.#longMs *= 0.95
    if (!isUsed) return
    if (shortMs > SLOWER * longMs) this.#fullSamples = 0
    else if (inFlight >= this.#estimated * FULL) this.#fullSamples++
    this.#estimated = Math.max(this.#min, Math.min(this.#max, this.#next(longMs, shortMs, inFlight)))
  }

  /** Returns what requests take usually from now on. */
  relearn(longMs: number): void {
    if (!(longMs > 0)) return
    this.#longMs = longMs
    this.#fullSamples = RISE_AFTER
  }

  #next(longMs: number, shortMs: number, inFlight: number): number {
    const isFull = inFlight >= this.#estimated * FULL
    if (this.#rise > 1 && isFull && this.#fullSamples > RISE_AFTER) return this.#estimated * this.#rise
    const gradient = Math.max(0.5, Math.min(1, (this.#tolerance * longMs) / shortMs))
    const wanted = this.#estimated * gradient + this.#queue(this.#estimated)
    const weight = wanted < this.#estimated ? this.#fall : this.#smoothing
    return this.#estimated * (1 - weight) + wanted * weight
  }

  #learn(ms: number, isUsed: boolean): number {
    if (this.#count < WARM_UP) {
      const isLeast = this.#learnsLeast && isUsed && this.#count > 0
      this.#longMs = isLeast ? Math.min(this.#longMs, ms) : (this.#longMs * this.#count + ms) / (this.#count + 1)
      this.#count++
    } else if (!(this.#holds && isUsed && ms > this.#longMs)) {
      const weight = 2 / (WINDOW + 1)
      this.#longMs = this.#longMs * (1 - weight) + ms * weight
    }
    return this.#longMs
  }
}
