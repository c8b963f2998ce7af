/** GradientOptions are those of Gradient2 in Netflix's concurrency-limits, with its defaults. */
export interface GradientOptions {
  /** Default: 20. */
  readonly initial?: number
  /** Default: 20. */
  readonly min?: number
  /** Default: 200. */
  readonly max?: number
  /** Requests that may queue without a lower limit. Default: 4. */
  readonly queue?: number
  /** How much slower than usual is still usual. Default: 1.5. */
  readonly tolerance?: number
  /** The weight of what is new. Default: 0.2. */
  readonly smoothing?: number
}

const WARM_UP = 10
const WINDOW = 600

/**
 * GradientLimit finds how many requests at once something can take, from how long they take: `limit · g + queue`, smoothed, where
 * `g = max(0.5, min(1, tolerance · long / short))`. `short` is the time of now; `long` the mean of the first 10, then an average
 * that forgets over 600. Where the limit is not used by half, its effect is not known, and it stays.
 */
export class GradientLimit {
  readonly #min: number
  readonly #max: number
  readonly #queue: number
  readonly #tolerance: number
  readonly #smoothing: number
  #estimated: number
  #longMs = 0
  #count = 0

  constructor(options: GradientOptions = {}) {
    const { initial = 20, min = 20, max = 200, queue = 4, tolerance = 1.5, smoothing = 0.2 } = options
    this.#min = min
    this.#max = max
    this.#queue = queue
    this.#tolerance = tolerance
    this.#smoothing = smoothing
    this.#estimated = initial
  }

  /** How many requests may be under way. */
  get limit(): number {
    return Math.floor(this.#estimated)
  }

  /** What a request takes usually, in milliseconds. */
  get longMs(): number {
    return this.#longMs
  }

  /** sample tells how long requests take now, and how many were under way. */
  sample(shortMs: number, inFlight: number): void {
    if (!(shortMs > 0)) return
    const longMs = this.#learn(shortMs)
    // After a bad time, the average is too high for long: it comes down faster.
    if (longMs / shortMs > 2) this.#longMs *= 0.95
    if (inFlight < this.#estimated / 2) return
    const gradient = Math.max(0.5, Math.min(1, (this.#tolerance * longMs) / shortMs))
    const wanted = this.#estimated * gradient + this.#queue
    const smoothed = this.#estimated * (1 - this.#smoothing) + wanted * this.#smoothing
    this.#estimated = Math.max(this.#min, Math.min(this.#max, smoothed))
  }

  #learn(ms: number): number {
    if (this.#count < WARM_UP) {
      this.#longMs = (this.#longMs * this.#count + ms) / (this.#count + 1)
      this.#count++
    } else {
      const weight = 2 / (WINDOW + 1)
      this.#longMs = this.#longMs * (1 - weight) + ms * weight
    }
    return this.#longMs
  }
}

/** How long times are gathered for one sample, and how many it takes at least. */
const SAMPLE_MS = 1_000
const MIN_TIMES = 10

/**
 * AdaptiveConcurrency is a GradientLimit that gathers the times of requests for a second, ten at the least: single ones
 * are too different from each other.
 */
export class AdaptiveConcurrency {
  readonly #limit: GradientLimit
  #inFlight = 0
  #sinceMs: number | undefined
  #sumMs = 0
  #times = 0
  #mostInFlight = 0

  constructor(options: GradientOptions = {}) {
    this.#limit = new GradientLimit(options)
  }

  get limit(): number {
    return this.#limit.limit
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** begin takes a place, if there is one: false is a request to shed. */
  begin(): boolean {
    if (this.#inFlight >= this.#limit.limit) return false
    this.#inFlight++
    if (this.#inFlight > this.#mostInFlight) this.#mostInFlight = this.#inFlight
    return true
  }

  /** end gives a place back. `tookMs` is undefined where the time says nothing, as of a request that was cancelled. */
  end(nowMs: number, tookMs: number | undefined): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1)
    if (tookMs === undefined) return
    this.#sinceMs ??= nowMs
    this.#sumMs += tookMs
    this.#times++
    if (this.#times < MIN_TIMES || nowMs - this.#sinceMs < SAMPLE_MS) return
    this.#limit.sample(this.#sumMs / this.#times, this.#mostInFlight)
    this.#sinceMs = nowMs
    this.#sumMs = 0
    this.#times = 0
    this.#mostInFlight = this.#inFlight
  }
}
