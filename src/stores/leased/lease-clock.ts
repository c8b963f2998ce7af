import type { Clock } from '../../core/clock.ts'
import { monotonicMs } from '../system-clock.ts'

/** Less than this between two looks is how finely the wall clock counts, or slewing, and no step. */
const STEP_MS = 50

/**
 * The clock that a holder measures its leases with. A monotonic clock stands still while a machine sleeps, and the
 * lender's does not: so when the wall clock has gone further than the monotonic one since the last look, this one has
 * too. A wall clock that is set forward, and a process that is stopped between the two looks, end leases early, which
 * costs a trip; a wall clock that is set back changes nothing.
 */
export class LeaseClock implements Clock {
  readonly #wall: () => number
  readonly #monotonic: () => number
  #wallThen: number
  #monotonicThen: number
  #leadMs: number

  constructor(wall: () => number = Date.now, monotonic: () => number = monotonicMs) {
    this.#wall = wall
    this.#monotonic = monotonic
    this.#wallThen = wall()
    this.#monotonicThen = monotonic()
    this.#leadMs = this.#wallThen - this.#monotonicThen
  }

  nowMs(): number {
    const wall = this.#wall()
    const monotonic = this.#monotonic()
    const stepMs = wall - this.#wallThen - (monotonic - this.#monotonicThen)
    if (stepMs > STEP_MS) this.#leadMs += stepMs
    this.#wallThen = wall
    this.#monotonicThen = monotonic
    return monotonic + this.#leadMs
  }
}
