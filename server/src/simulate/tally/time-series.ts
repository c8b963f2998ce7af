import { addCounts, type Counts, count, noCounts, type Outcome } from './counts.ts'

/** The counts of a span of time that begins at `atMs`. */
export interface TimeCounts extends Counts {
  readonly atMs: number
}

/** Widths of spans, each a multiple of the one before; from a week on, they double. */
const WIDTHS_S = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800]
const MOST_SPANS = 300

/** Counts requests over time, in at most 300 spans of equal length: they are joined as the time grows. */
export class TimeSeries {
  #widthMs = 1_000
  #spans = new Map<number, Counts>()
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY
  /** The span that was counted last: nearly always the next one, too. */
  #at = Number.NaN
  #now: Counts = noCounts()

  add(timeMs: number, outcome: Outcome): void {
    const at = Math.floor(timeMs / this.#widthMs)
    if (at !== this.#at) this.#move(at, timeMs)
    count(this.#now, outcome)
  }

  get widthMs(): number {
    return this.#widthMs
  }

  /** Returns every span from the first to the last, empty ones too. */
  get spans(): readonly TimeCounts[] {
    if (this.#spans.size === 0) return []
    return Array.from({ length: this.#last - this.#first + 1 }, (_, i) => {
      const at = this.#first + i
      return { atMs: at * this.#widthMs, ...(this.#spans.get(at) ?? noCounts()) }
    })
  }

  #move(at: number, timeMs: number): void {
    this.#first = Math.min(this.#first, at)
    this.#last = Math.max(this.#last, at)
    if (this.#last - this.#first >= MOST_SPANS) {
      this.#widen()
      this.#move(Math.floor(timeMs / this.#widthMs), timeMs)
      return
    }
    const known = this.#spans.get(at)
    this.#now = known ?? noCounts()
    if (known === undefined) this.#spans.set(at, this.#now)
    this.#at = at
  }

  #widen(): void {
    const widthS = this.#widthMs / 1_000
    const factor = (WIDTHS_S.find((each) => each > widthS) ?? 2 * widthS) / widthS
    const joined = new Map<number, Counts>()
    for (const [at, counts] of this.#spans) {
      const place = Math.floor(at / factor)
      const known = joined.get(place)
      if (known === undefined) joined.set(place, counts)
      else addCounts(known, counts)
    }
    this.#spans = joined
    this.#widthMs *= factor
    this.#first = Math.floor(this.#first / factor)
    this.#last = Math.floor(this.#last / factor)
  }
}
