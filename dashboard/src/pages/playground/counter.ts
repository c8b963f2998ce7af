import type { HitLog } from 'sluice/internal/core/algorithms/hit-log'
import { NEVER, Outcome } from 'sluice/internal/core/algorithms/outcome'
import type { PlayLimit } from './play-limit.ts'

/**
 * A Counter is one counter of the simulation: the state that an algorithm reads and says the next of. Requests cost 1 and time goes
 * on, which keeps a log as cheap as numbers.
 */
export class Counter {
  /** What the last hit found. */
  readonly outcome = new Outcome()
  readonly #limit: PlayLimit
  readonly #log = new TimeLog()
  #at = NEVER
  #first = 0
  #second = 0

  constructor(limit: PlayLimit) {
    this.#limit = limit
  }

  hit(nowMs: number): Outcome {
    const { outcome } = this
    const { algorithmRecord } = this.#limit
    if (algorithmRecord.stateNumbers === 0) {
      algorithmRecord.evaluateLog(this.#log, this.#limit, nowMs, 1, outcome)
      this.#log.change(outcome)
      return outcome
    }
    algorithmRecord.evaluateNumbers(this.#at, this.#first, this.#second, this.#limit, nowMs, 1, outcome)
    this.#at = outcome.at
    this.#first = outcome.first
    this.#second = outcome.second
    return outcome
  }

  /** release gives back the permits that were taken at or before a time: that is the part of their holders. */
  release(untilMs: number): void {
    this.#log.dropUntil(untilMs)
  }
}

/** A TimeLog is the times of hits, the oldest first. */
class TimeLog implements HitLog {
  readonly #times: number[] = []
  #oldest = 0
  #position = -1

  get totalHits(): number {
    return this.#times.length - this.#oldest
  }

  get newestMs(): number {
    return this.#times[this.#times.length - 1]
  }

  readonly hits = 1

  get timeMs(): number {
    return this.#times[this.#position]
  }

  rewind(): void {
    this.#position = this.#oldest - 1
  }

  next(): boolean {
    this.#position++
    return this.#position < this.#times.length
  }

  change({ dropOldest, push, latestMs }: Outcome): void {
    this.#oldest += dropOldest
    for (let i = 0; i < push; i++) this.#times.push(latestMs)
  }

  dropUntil(untilMs: number): void {
    while (this.#oldest < this.#times.length && this.#times[this.#oldest] <= untilMs) this.#oldest++
  }
}
