import { ALGORITHM_NAMES, type Algorithm } from 'sluice/internal/core/algorithms/algorithms'
import { Counter } from './counter.ts'
import { type PlayLimit, playLimit } from './play-limit.ts'
import { BIN_MS, BINS, type Request, requestsOf, SPAN_MS, type Traffic } from './traffic.ts'

/** LimitNumbers are what the algorithms are compared with. */
export interface LimitNumbers {
  readonly limit: number
  readonly windowMs: number
  /** Buckets alone. */
  readonly burst: number
  /** Concurrency alone: how many at the same time, and how long each takes. */
  readonly atOnce: number
  readonly holdMs: number
  /** Whether callers share one counter, or have one each. */
  readonly isShared: boolean
}

export interface CallerResult {
  readonly asked: number
  readonly admitted: number
}

/** A Result is what one algorithm makes of the traffic. */
export interface Result {
  readonly algorithm: Algorithm
  /** For each bin. What a leaky bucket holds back is admitted in the bin in which it goes on. */
  readonly admitted: readonly number[]
  readonly refused: readonly number[]
  readonly callers: readonly CallerResult[]
  /** The most that one counter let go on in any span as long as the window. */
  readonly worstBurst: number
  /** The longest time from a refusal until something was admitted again, or the minute was over. */
  readonly longestStopMs: number
  /** The longest that an admitted request was held back. */
  readonly longestDelayMs: number
}

/** simulate runs the algorithms of the service on the traffic. The same traffic and numbers give the same results. */
export function simulate(traffic: Traffic, numbers: LimitNumbers): readonly Result[] {
  const requests = requestsOf(traffic)
  return ALGORITHM_NAMES.map((algorithm) => new Run(algorithm, numbers, traffic.length).results(requests))
}

/** limitOf is the limit that an algorithm is given. */
export function limitOf(algorithm: Algorithm, { limit, windowMs, burst, atOnce }: LimitNumbers): PlayLimit {
  if (algorithm === 'concurrency') return playLimit(algorithm, { limit: atOnce, windowMs: SPAN_MS, burst })
  return playLimit(algorithm, { limit, windowMs, burst })
}

class Run {
  readonly #algorithm: Algorithm
  readonly #numbers: LimitNumbers
  readonly #counters: readonly Counter[]
  /** When what each counter admitted went on. */
  readonly #goneOn: number[][]
  readonly #callers: { asked: number; admitted: number }[]
  readonly #admitted = Array<number>(BINS).fill(0)
  readonly #refused = Array<number>(BINS).fill(0)
  #stoppedAtMs: number | undefined
  #longestStopMs = 0
  #longestDelayMs = 0

  constructor(algorithm: Algorithm, numbers: LimitNumbers, callers: number) {
    this.#algorithm = algorithm
    this.#numbers = numbers
    const limit = limitOf(algorithm, numbers)
    this.#counters = Array.from({ length: callers }, () => new Counter(limit))
    this.#goneOn = Array.from({ length: callers }, () => [])
    this.#callers = Array.from({ length: callers }, () => ({ asked: 0, admitted: 0 }))
  }

  results(requests: readonly Request[]): Result {
    for (const request of requests) this.#take(request)
    this.#goOn(SPAN_MS)
    return {
      algorithm: this.#algorithm,
      admitted: this.#admitted,
      refused: this.#refused,
      callers: this.#callers,
      worstBurst: Math.max(...this.#goneOn.map((times) => mostWithin(times, this.#numbers.windowMs))),
      longestStopMs: this.#longestStopMs,
      longestDelayMs: this.#longestDelayMs,
    }
  }

  #take({ atMs, caller }: Request): void {
    const at = this.#numbers.isShared ? 0 : caller
    const counter = this.#counters[at]
    // Giving permits back is what a caller does when it is done, not what the algorithm does.
    if (this.#algorithm === 'concurrency') counter.release(atMs - this.#numbers.holdMs)
    const { allowed, delayMs } = counter.hit(atMs)
    this.#callers[caller].asked++
    if (!allowed) {
      this.#refused[binOf(atMs)]++
      this.#stoppedAtMs ??= atMs
      return
    }
    this.#callers[caller].admitted++
    this.#admitted[binOf(atMs + delayMs)]++
    this.#goneOn[at].push(atMs + delayMs)
    this.#longestDelayMs = Math.max(this.#longestDelayMs, delayMs)
    this.#goOn(atMs)
  }

  #goOn(atMs: number): void {
    if (this.#stoppedAtMs === undefined) return
    this.#longestStopMs = Math.max(this.#longestStopMs, atMs - this.#stoppedAtMs)
    this.#stoppedAtMs = undefined
  }
}

/** What goes on after the minute is drawn at its end. */
const binOf = (atMs: number): number => Math.min(BINS - 1, Math.floor(atMs / BIN_MS))

/** mostWithin returns how many of the times, which are in order, are in any span of so many milliseconds. */
export function mostWithin(times: readonly number[], spanMs: number): number {
  let first = 0
  let most = 0
  for (const [last, time] of times.entries()) {
    while (time - times[first] >= spanMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
