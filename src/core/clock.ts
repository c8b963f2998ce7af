/** Returns the time in whole milliseconds since 1970. Never goes back. */
export interface Clock {
  nowMs(): number
}

const RESYNC_MS = 1_000

/**
 * Runs on a monotonic clock and follows a wall clock that may be set. It reads the wall clock once a second: a step
 * forward is followed immediately (a machine that slept); a step back is absorbed by running an eighth slower until the
 * wall clock has caught up. So it never goes back, never stands still, and calendar windows still end on the true date.
 */
export class SteadyClock implements Clock {
  readonly #wall: () => number
  readonly #monotonic: () => number
  #syncedAt: number
  #syncedMs: number
  #pace = 1

  constructor(wall: () => number, monotonic: () => number) {
    this.#wall = wall
    this.#monotonic = monotonic
    this.#syncedAt = monotonic()
    this.#syncedMs = wall()
  }

  nowMs(): number {
    return this.msAt(this.#monotonic())
  }

  /** Like nowMs for who has just asked the monotonic clock. */
  msAt(at: number): number {
    const sinceMs = at - this.#syncedAt
    if (sinceMs < RESYNC_MS) return Math.floor(this.#syncedMs + sinceMs * this.#pace)
    this.#sync(at, this.#syncedMs + sinceMs * this.#pace)
    return Math.floor(this.#syncedMs)
  }

  /** Continues from nowMs, or from the wall if that is ahead, at the pace that meets the wall a second from now. */
  #sync(at: number, nowMs: number): void {
    const wallMs = this.#wall()
    this.#syncedAt = at
    this.#syncedMs = Math.max(nowMs, wallMs)
    this.#pace = 1 - Math.min((this.#syncedMs - wallMs) / RESYNC_MS, 1 / 8)
  }
}
