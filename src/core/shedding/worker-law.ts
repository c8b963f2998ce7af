import type { Priority } from './priority.ts'

/** When a worker begins to shed, and how fast it does. */
export interface WorkerLawOptions {
  /** From which utilisation test traffic, reads and writes are shed. Default: 0.7, 0.8, 0.9. */
  readonly from?: readonly [test: number, read: number, write: number]
  /** How far below that it must be before requests of that priority are admitted again. Default: 0.1. */
  readonly gap?: number
  /** How long that must last before anything changes; shorter above the capacity, as with `overMs`. Default: 1,000. */
  readonly afterMs?: number
  /**
   * How long it takes to shed all requests of one priority. At n times the capacity it takes an nth. Default: 5,000.
   */
  readonly overMs?: number
  /**
   * How long it takes to let all requests of one priority in again; less when shedding resumes before that. Default:
   * twice `overMs`.
   */
  readonly backMs?: number
}

export const WORKER_LAW = Object.freeze({ from: [0.7, 0.8, 0.9] as const, gap: 0.1, afterMs: 1_000, overMs: 5_000 })

/** Far beyond its capacity, a worker sheds this many times as fast, and begins as much sooner. */
const MAX_HASTE = 20
/** It lets requests in again slowly at first, and then this many times as fast. */
const MAX_RETURN = 4
/** One stall of the event loop is in two samples. It is no overload. */
const MIN_SAMPLES = 3
/**
 * A longer time between two samples counts as this: the process was stopped, and what happened meanwhile is unknown.
 */
const MAX_STEP_MS = 1_000
const CLASSES = 3

/** Less than this share of what a worker served while it was busy is less than it can serve: the load has gone. */
const GONE = 0.9
/**
 * The weight of each busy sample in what a worker is known to serve, and of each that is above its capacity in what
 * that is less than.
 */
const NEWEST = 0.05
const NEWEST_ABOVE = 0.1

/** How many requests came since the last sample, and how many of those were not shed. */
export interface WorkerFlow {
  readonly offered: number
  readonly admitted: number
}

/**
 * Says which share of the requests of each priority a worker sheds. One number, the level, holds all of it: from 0 to 1
 * test traffic is shed, a growing share of it; from 1 to 2 reads as well, from 2 to 3 writes. So no request is shed
 * while a less important one is admitted, and critical ones never are.
 *
 * The level rises while utilisation is at or above the bound of the priority that is next, falls while it is `gap`
 * below that of the priority that was last, and stays in between. Either has to last for `afterMs`. What is shed lowers
 * utilisation, so the level comes to rest, and does not swing: it falls slowly until it is sure that it may.
 *
 * It is sure where all that comes in `afterMs`, the shed requests included, is less than what the worker served while
 * it was busy: then nothing is shed any more.
 */
export class WorkerLaw {
  readonly #from: readonly number[]
  readonly #gap: number
  readonly #afterMs: number
  readonly #overMs: number
  readonly #backMs: number
  #level = 0
  /** How long it has been above, each time weighed by how far, and in how many samples. */
  #aboveMs = 0
  #aboveSamples = 0
  #belowMs = 0
  /** Requests per millisecond that it served while it was busy. Undefined: it is not known yet. */
  #served: number | undefined
  #mostServed: number | undefined
  /** Since it was last looked at what comes: how long that is, for how long it was busy, and how many requests came. */
  #watchedMs = 0
  #busyMs = 0
  #offered = 0

  constructor(options: WorkerLawOptions = {}) {
    this.#from = options.from ?? WORKER_LAW.from
    this.#gap = options.gap ?? WORKER_LAW.gap
    this.#afterMs = options.afterMs ?? WORKER_LAW.afterMs
    this.#overMs = options.overMs ?? WORKER_LAW.overMs
    this.#backMs = options.backMs ?? 2 * this.#overMs
  }

  /** From 0, nothing is shed, to 3, nothing but critical requests is admitted. */
  get level(): number {
    return this.#level
  }

  /** Returns the part of the requests of a priority that is shed, from 0 to 1. */
  share(priority: Priority): number {
    if (priority === 0) return 0
    const share = this.#level - (CLASSES - priority)
    return share <= 0 ? 0 : share >= 1 ? 1 : share
  }

  /**
   * Whether a request is shed. `dice` is from 0 up to 1, so that shedding does not depend on the place in a sequence.
   */
  sheds(priority: Priority, dice: number): boolean {
    return this.#level > 0 && dice < this.share(priority)
  }

  /** Records the utilisation since the last sample and, where known, how many requests came. */
  sample(utilisation: number, sinceMs: number, flow?: WorkerFlow): void {
    const stepMs = Math.min(Math.max(0, sinceMs), MAX_STEP_MS)
    if (flow !== undefined && this.#isGone(utilisation, stepMs, flow)) {
      this.#level = 0
      this.#aboveMs = 0
      this.#aboveSamples = 0
      this.#belowMs = 0
      return
    }
    const ceiling = this.#ceilingOf(utilisation)
    const last = Math.max(1, Math.ceil(this.#level))
    if (this.#level < ceiling) {
      this.#belowMs = 0
      this.#above(stepMs * Math.min(MAX_HASTE, Math.max(1, utilisation)), ceiling)
      return
    }
    this.#aboveMs = 0
    this.#aboveSamples = 0
    if (utilisation < this.#from[last - 1] - this.#gap) this.#below(stepMs, last)
    else this.#belowMs = 0
  }

  /**
   * Returns whether less came in the last `afterMs` than the worker serves, and it was busy for less than half of that
   * time.
   */
  #isGone(utilisation: number, stepMs: number, { offered, admitted }: WorkerFlow): boolean {
    if (stepMs === 0) return false
    if (utilisation >= this.#from[0]) {
      this.#busyMs += stepMs
      this.#learn(utilisation, admitted / stepMs)
    }
    this.#watchedMs += stepMs
    this.#offered += offered
    if (this.#watchedMs < this.#afterMs) return false
    const isLess = this.#served !== undefined && this.#offered < GONE * this.#served * this.#watchedMs
    const isCalm = this.#busyMs < this.#watchedMs / 2
    this.#watchedMs = 0
    this.#busyMs = 0
    this.#offered = 0
    return isLess && isCalm && this.#level > 0
  }

  /** Takes what it admits while it is busy for what it serves. What it admits above its capacity is more than that. */
  #learn(utilisation: number, admitted: number): void {
    if (utilisation <= 1) {
      this.#served = averaged(this.#served, admitted, NEWEST)
      return
    }
    this.#mostServed = averaged(this.#mostServed, admitted, NEWEST_ABOVE)
    if (this.#served !== undefined && this.#mostServed < this.#served) this.#served = this.#mostServed
  }

  /** Returns how far the level may rise: to the last priority that is shed at this utilisation. */
  #ceilingOf(utilisation: number): number {
    let ceiling = 0
    while (ceiling < CLASSES && utilisation >= this.#from[ceiling]) ceiling++
    return ceiling
  }

  /** Raises the level. Once something is shed, more is shed immediately: only the beginning must be certain. */
  #above(stepMs: number, ceiling: number): void {
    this.#aboveMs += stepMs
    this.#aboveSamples++
    const isSure = this.#aboveSamples >= MIN_SAMPLES && this.#aboveMs > this.#afterMs
    if (this.#level > 0 || isSure) this.#level = Math.min(ceiling, rounded(this.#level + stepMs / this.#overMs))
  }

  /** Admits requests of one priority again. The next priority waits for another full period. */
  #below(stepMs: number, last: number): void {
    this.#belowMs += stepMs
    if (this.#belowMs <= this.#afterMs) return
    const speed = Math.min(MAX_RETURN, this.#belowMs / Math.max(1, this.#afterMs))
    this.#level = Math.max(last - 1, rounded(this.#level - (speed * stepMs) / this.#backMs))
    if (this.#level === last - 1) this.#belowMs = 0
  }
}

function averaged(average: number | undefined, value: number, weight: number): number {
  return average === undefined ? value : average * (1 - weight) + value * weight
}

/** Keeps many small steps from missing a whole number by a hair. */
function rounded(level: number): number {
  return Math.round(level * 1e9) / 1e9
}
