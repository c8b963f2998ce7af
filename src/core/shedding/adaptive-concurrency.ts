import { GradientLimit, type GradientOptions } from './gradient.ts'
import type { Priority } from './priority.ts'

export interface AdaptiveOptions extends GradientOptions {
  /** How long times are gathered for one sample. Default: 1,000. */
  readonly sampleMs?: number
  /**
   * After this many samples with a fully used limit and slow requests, it probes whether fewer are faster. Default:
   * never.
   */
  readonly probeAfter?: number
  /**
   * Refuses nothing below `max` before the first sample, so that an upstream with slow answers is not limited to
   * `initial` while it is still unknown. After that the limit is the number of requests in flight, and falls within
   * seconds if that is too many. Default: false.
   */
  readonly startsOpen?: boolean
}

/** Gradient2 as an upstream needs it: up within seconds, and the same after an hour of overload as after a second. */
export const ADAPTIVE = Object.freeze({
  initial: 20,
  min: 4,
  queue: Math.sqrt,
  tolerance: 1.2,
  fall: 0.5,
  rise: 1.3,
  holds: true,
  sampleMs: 250,
  probeAfter: 20,
})

/** The share of the limit that requests of each priority may fill. The rest is reserved for more important requests. */
const SHARES: readonly number[] = [1, 0.75, 0.67, 0.6]
/** A sample needs this many times: single ones vary too much. */
const MIN_TIMES = 10
/** Half as many requests that still take this much of the time are not slow because of each other. */
const NO_FASTER = 0.9
/** A single probe may have met a stall: the second follows after this many samples, and decides. */
const SECOND_LOOK_AFTER = 4
/** Times above this many times the usual one are slow. */
const SLOW = 1.25

/**
 * A GradientLimit that collects the times of requests for a while, at least ten. Less important requests find it full
 * sooner, so that more important ones find room.
 *
 * Slow requests have two causes: too many concurrent ones, or an upstream that has become slower. From time to time it
 * admits half as many for a moment. If they take as long, twice, it is the upstream, and that is the expected time from
 * then on.
 */
export class AdaptiveConcurrency {
  readonly #limit: GradientLimit
  readonly #sampleMs: number
  readonly #probeAfter: number
  #inFlight = 0
  #sinceMs: number | undefined
  #sumMs = 0
  #times = 0
  #mostInFlight = 0
  #slowSamples = 0
  #isSecondLook = false
  #probe: { readonly sinceMs: number; readonly beforeMs: number } | undefined
  #isOpen: boolean

  constructor(given: AdaptiveOptions = {}) {
    const { sampleMs = 1_000, probeAfter = Number.POSITIVE_INFINITY, startsOpen = false, ...options } = given
    this.#limit = new GradientLimit(startsOpen ? { ...options, learnsLeast: true } : options)
    this.#isOpen = startsOpen
    this.#sampleMs = sampleMs
    this.#probeAfter = probeAfter
  }

  get limit(): number {
    const limit = this.#whole
    return this.#probe === undefined ? limit : Math.max(1, Math.floor(limit / 2))
  }

  /** The limit, but for looks. */
  get #whole(): number {
    return this.#isOpen ? this.#limit.max : this.#limit.limit
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** What a request takes usually, in milliseconds. */
  get usualMs(): number {
    return this.#limit.longMs
  }

  /** Whether one more request of a priority may be in flight. Critical ones are exempt from probes. */
  hasRoom(priority: Priority): boolean {
    const limit = priority === 0 ? this.#whole : this.limit
    return this.#inFlight < Math.max(1, Math.floor(limit * (SHARES[priority] as number)))
  }

  /** Counts a request in flight, if there is room: false is a request to shed. */
  begin(priority: Priority = 0): boolean {
    if (!this.hasRoom(priority)) return false
    this.add()
    return true
  }

  /** Counts a request in flight, whether there is room or not. */
  add(): void {
    this.#inFlight++
    if (this.#inFlight > this.#mostInFlight) this.#mostInFlight = this.#inFlight
  }

  /** Ends a request. `tookMs` is undefined where the time says nothing, as for a cancelled request. */
  end(nowMs: number, tookMs: number | undefined): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1)
    if (tookMs === undefined) return
    // During a probe, times of requests that began among many are not representative.
    if (this.#probe !== undefined && nowMs - tookMs < this.#probe.sinceMs) return
    this.#sinceMs ??= nowMs
    this.#sumMs += tookMs
    this.#times++
    if (this.#times < MIN_TIMES || nowMs - this.#sinceMs < this.#sampleMs) return
    this.#sample(nowMs, this.#sumMs / this.#times)
    this.#forget(nowMs)
  }

  #sample(nowMs: number, shortMs: number): void {
    if (this.#probe !== undefined) {
      this.#looked(shortMs, shortMs > NO_FASTER * this.#probe.beforeMs)
      this.#probe = undefined
      return
    }
    // Less would refuse what was served until now, of what matters least too.
    if (this.#isOpen) this.#limit.startAt(this.#mostInFlight / Math.min(...SHARES))
    this.#isOpen = false
    const isUsed = this.#mostInFlight >= this.#limit.limit / 2
    this.#limit.sample(shortMs, this.#mostInFlight)
    if (!isUsed || shortMs <= SLOW * this.#limit.longMs) {
      this.#slowSamples = 0
      this.#isSecondLook = false
    } else if (++this.#slowSamples >= this.#probeAfter) {
      this.#slowSamples = 0
      this.#probe = { sinceMs: nowMs, beforeMs: shortMs }
    }
  }

  #looked(shortMs: number, isNoFaster: boolean): void {
    if (isNoFaster && this.#isSecondLook) this.#limit.relearn(shortMs)
    this.#isSecondLook = isNoFaster && !this.#isSecondLook
    if (this.#isSecondLook) this.#slowSamples = this.#probeAfter - SECOND_LOOK_AFTER
  }

  #forget(nowMs: number): void {
    this.#sinceMs = this.#probe === undefined ? nowMs : undefined
    this.#sumMs = 0
    this.#times = 0
    this.#mostInFlight = this.#inFlight
  }
}
