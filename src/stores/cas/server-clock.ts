import type { Clock } from '../../core/clock.ts'
import { monotonicMs } from '../system-clock.ts'
import type { TimeSample } from './cas-engine.ts'

/** Clocks of two machines drift apart by at most this much of the time that passes. */
const DRIFT = 0.0002
/** An engine whose clock shows whole seconds is asked until its clock is known this well. */
const WELL_KNOWN_MS = 20
const LOOK_AGAIN_MS = 10_000
/** Where the way to the engine takes so long that it cannot be, this many samples in a row are enough. */
const LOOKS = 12
/** A clock that is this far off what is known of it was set. */
const SLACK_MS = 2

/**
 * Follows the clock of another machine, so that all nodes agree on the time, whatever their own clocks show. Each sample
 * says within which bounds the other clock is ahead of this one; all of them together say it more and more exactly. It
 * does not move backwards, unless the other clock was set back.
 */
export class ServerClock implements Clock {
  readonly #now: () => number
  /** The other clock is ahead by at least and at most so much, as of #knownAt. */
  #least = Number.NEGATIVE_INFINITY
  #most = Number.POSITIVE_INFINITY
  #knownAt = 0
  #lastMs = Number.NEGATIVE_INFINITY
  #looks = 0

  constructor(now: () => number = monotonicMs) {
    this.#now = now
  }

  get isKnown(): boolean {
    return this.#most < Number.POSITIVE_INFINITY
  }

  /** Learns from a sample that was asked for at a time, and has just arrived. */
  learn({ ms, withinMs }: TimeSample, askedAt: number): void {
    const nowAt = this.#now()
    const [least, most] = [ms - nowAt, ms + withinMs - askedAt]
    const drift = this.isKnown ? (nowAt - this.#knownAt) * DRIFT : 0
    const [knownLeast, knownMost] = [this.#least - drift, this.#most + drift]
    this.#knownAt = nowAt
    if (least > knownMost + SLACK_MS || most < knownLeast - SLACK_MS) {
      this.#least = least
      this.#most = most
      this.#lastMs = Number.NEGATIVE_INFINITY
      return
    }
    this.#least = Math.max(least, Math.min(knownLeast, most))
    this.#most = Math.min(most, Math.max(knownMost, least))
  }

  nowMs(): number {
    const nowMs = Math.floor(this.#now() + (this.#least + this.#most) / 2)
    if (nowMs > this.#lastMs) this.#lastMs = nowMs
    return this.#lastMs
  }

  /**
   * Returns when the next sample says most: where the clock shows whole seconds, at the moment at which it changes if it
   * is as far ahead as it is believed to be.
   */
  nextSampleInMs(withinMs: number): number {
    const isWellKnown = this.#most - this.#least <= WELL_KNOWN_MS
    if (withinMs <= WELL_KNOWN_MS || isWellKnown || ++this.#looks % LOOKS === 0) return LOOK_AGAIN_MS
    const believedMs = this.#now() + (this.#least + this.#most) / 2
    return withinMs - (believedMs % withinMs)
  }
}
