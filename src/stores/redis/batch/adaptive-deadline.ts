/** The least and the most that a deadline adapts to. */
export interface DeadlineRange {
  readonly leastMs: number
  readonly mostMs: number
}

export const DEADLINE_RANGE: DeadlineRange = { leastMs: 5, mostMs: 100 }

/** What is known of the times of one minute. */
interface Minute {
  readonly decisions: Float64Array
  calls: number
}

/** The deadline is so many times the slowest of a thousand decisions. */
const MARGIN = 3
const SLOWEST = 0.001
/** Fewer answers say nothing about the slowest of a thousand. */
const MIN_CALLS = 1_000
const MINUTE_MS = 60_000
const MINUTES = 3
/** How often the minutes are looked through at most. */
const LOOK_MS = 10
/** Times are counted in steps of a fourth of an octave, from a millisecond on: 19 % apart. */
const STEPS_OF_OCTAVE = 4
const STEPS = 40

/**
 * Learns from the answers of one server how long to wait for the next: three times what all but one of a thousand
 * decisions took in the last two to three minutes, within a range. While fewer answers are known, as much as the range
 * allows. Answers that came too late count like others, so that a server that has become slower is waited for.
 *
 * Each call that runs out of time doubles the deadline until the next answer: what has just stood still is given time
 * to go on, and the circuit breaker decides when it is an outage.
 */
export class AdaptiveDeadline {
  readonly #range: DeadlineRange
  readonly #minutes: Minute[] = Array.from({ length: MINUTES }, newMinute)
  readonly #changed: (timeoutMs: number) => void
  #at = 0
  #startedAt = Number.NEGATIVE_INFINITY
  #lookedAt = Number.NEGATIVE_INFINITY
  #learnedMs: number
  #factor = 1

  constructor(range: DeadlineRange, changed: (timeoutMs: number) => void = () => {}) {
    this.#range = range
    this.#changed = changed
    this.#learnedMs = range.mostMs
    changed(this.#learnedMs)
  }

  /** Returns how long a decision may take that is made now. */
  timeoutMs(nowAt: number): number {
    if (nowAt - this.#lookedAt >= LOOK_MS) this.#look(nowAt)
    return Math.min(this.#learnedMs * this.#factor, this.#range.mostMs)
  }

  /** Learns that a call was answered after some time, in time or not. */
  answered(tookMs: number, decisions: number, nowAt: number): void {
    this.#turn(nowAt)
    const minute = this.#minutes[this.#at]
    minute.decisions[stepOf(tookMs)] += decisions
    minute.calls++
    this.#factor = 1
  }

  /** Learns that decisions were not answered in the time that they had. */
  timedOut(afterMs: number, decisions: number, nowAt: number): void {
    const currentMs = this.timeoutMs(nowAt)
    this.#turn(nowAt)
    this.#minutes[this.#at].decisions[stepOf(afterMs)] += decisions
    if (afterMs >= currentMs && currentMs < this.#range.mostMs) this.#factor *= 2
  }

  /** Begins new minutes, and forgets the oldest. */
  #turn(nowAt: number): void {
    const passed = Math.floor((nowAt - this.#startedAt) / MINUTE_MS)
    if (passed === 0) return
    for (let i = 0; i < Math.min(passed, MINUTES); i++) {
      this.#at = (this.#at + 1) % MINUTES
      this.#minutes[this.#at] = newMinute()
    }
    this.#startedAt = Number.isFinite(passed) ? this.#startedAt + passed * MINUTE_MS : nowAt
  }

  #look(nowAt: number): void {
    this.#turn(nowAt)
    this.#lookedAt = nowAt
    const learnedMs = this.#learn()
    if (learnedMs === this.#learnedMs) return
    this.#learnedMs = learnedMs
    this.#changed(learnedMs)
  }

  #learn(): number {
    const { leastMs, mostMs } = this.#range
    let calls = 0
    let decisions = 0
    for (const minute of this.#minutes) {
      calls += minute.calls
      for (let step = 0; step < STEPS; step++) decisions += minute.decisions[step]
    }
    if (calls < MIN_CALLS) return mostMs
    let slower = 0
    for (let step = STEPS - 1; step > 0; step--) {
      for (const minute of this.#minutes) slower += minute.decisions[step]
      if (slower > decisions * SLOWEST) return Math.min(Math.max(MARGIN * longestOf(step), leastMs), mostMs)
    }
    return leastMs
  }
}

function newMinute(): Minute {
  return { decisions: new Float64Array(STEPS), calls: 0 }
}

/** The deadlines of all servers of a store. */
export class AdaptiveDeadlines {
  readonly #range: DeadlineRange
  readonly #changed: (shard: string, timeoutMs: number) => void
  readonly #deadlines = new Map<string, AdaptiveDeadline>()

  constructor(range: DeadlineRange, changed: (shard: string, timeoutMs: number) => void) {
    this.#range = range
    this.#changed = changed
  }

  of(shard: string): AdaptiveDeadline {
    let deadline = this.#deadlines.get(shard)
    if (deadline === undefined) {
      deadline = new AdaptiveDeadline(this.#range, (timeoutMs) => this.#changed(shard, timeoutMs))
      this.#deadlines.set(shard, deadline)
    }
    return deadline
  }

  /** Returns the longest of all servers: for what may ask any of them. */
  longestMs(nowAt: number): number {
    let longestMs = 0
    for (const deadline of this.#deadlines.values()) longestMs = Math.max(longestMs, deadline.timeoutMs(nowAt))
    return longestMs === 0 ? this.#range.mostMs : longestMs
  }
}

/** Returns the step of a time: 0 up to a millisecond. */
function stepOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(Math.ceil(Math.log2(ms) * STEPS_OF_OCTAVE), STEPS - 1)
}

/** Returns the longest time of a step. */
function longestOf(step: number): number {
  return 2 ** (step / STEPS_OF_OCTAVE)
}
