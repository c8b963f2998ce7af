/** How far the time of spans may be off the machine's before it is set anew: clocks are corrected, and machines sleep. */
const MAX_DRIFT_MS = 50

/** WallClock turns what performance.now() counts, which spans need for their length, into the time of day. */
export class WallClock {
  #originMs = performance.timeOrigin

  /** at is the time of day, in milliseconds since 1970 with their fraction. */
  at(performanceMs: number): number {
    const driftMs = Date.now() - (this.#originMs + performance.now())
    if (Math.abs(driftMs) > MAX_DRIFT_MS) this.#originMs += driftMs
    return this.#originMs + performanceMs
  }
}
