/**
 * How far the time of spans may differ from the machine's before it is reset: clocks are corrected, and machines sleep.
 */
const MAX_DRIFT_MS = 50

/** Turns what performance.now() counts, which spans need for their length, into the time of day. */
export class WallClock {
  #originMs = performance.timeOrigin

  /** Returns the time of day, in milliseconds since 1970 with their fraction. */
  at(performanceMs: number): number {
    const driftMs = Date.now() - (this.#originMs + performance.now())
    if (Math.abs(driftMs) > MAX_DRIFT_MS) this.#originMs += driftMs
    return this.#originMs + performanceMs
  }
}
