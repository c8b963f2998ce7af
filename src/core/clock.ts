/** A Clock tells the time in whole milliseconds since 1970. It never goes back. */
export interface Clock {
  nowMs(): number
}

const RESYNC_MS = 1_000

/**
 * SteadyClock runs on a monotonic clock and follows a wall clock that may be set. It looks at the wall once a second: it
 * follows a step forward at once (a machine that slept), and makes up for a step back by running an eighth slower until
 * the wall has caught up. So it never goes back, never stands still, and calendar windows end on the true date again.
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

  /** msAt is nowMs for who has just asked the monotonic clock. */
  msAt(at: number): number {
    const sinceMs = at - this.#syncedAt
    if (sinceMs < RESYNC_MS) return Math.floor(this.#syncedMs + sinceMs * this.#pace)
    this.#sync(at, this.#syncedMs + sinceMs * this.#pace)
    return Math.floor(this.#syncedMs)
  }

  /** #sync goes on from nowMs, or from the wall if that is ahead, at the pace that meets the wall a second from now. */
  #sync(at: number, nowMs: number): void {
    const wallMs = this.#wall()
    this.#syncedAt = at
    this.#syncedMs = Math.max(nowMs, wallMs)
    this.#pace = 1 - Math.min((this.#syncedMs - wallMs) / RESYNC_MS, 1 / 8)
  }
}
