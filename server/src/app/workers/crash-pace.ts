const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000
/** A worker that was ready for this long worked: whatever ended it then may not happen again. */
const STABLE_MS = 10_000
/** After this many ends in a row before any worker was ready, more attempts would not help. */
const HOPELESS = 5

/** Decides when a worker that ended is replaced: immediately, unless workers end repeatedly. */
export class CrashPace {
  #quick = 0
  #neverReady = 0

  /** Called whenever a worker is ready. */
  ready(): void {
    this.#neverReady = 0
  }

  /** Returns how long to wait before the next attempt. `readyMs` is how long the worker had been ready. */
  ended(readyMs: number | undefined): number {
    if (readyMs === undefined) this.#neverReady++
    this.#quick = readyMs !== undefined && readyMs >= STABLE_MS ? 0 : this.#quick + 1
    return this.#quick <= 1 && readyMs !== undefined
      ? 0
      : Math.min(FIRST_PAUSE_MS * 2 ** (this.#quick - 1), MAX_PAUSE_MS)
  }

  /** Returns whether workers have only ever ended before they were ready. */
  get isHopeless(): boolean {
    return this.#neverReady >= HOPELESS
  }
}
