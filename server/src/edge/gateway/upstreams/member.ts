import type { Pool } from '../sides.ts'
import type { Endpoint } from './endpoint.ts'
import { LimitedPool } from './limited-pool.ts'

/** An address is first out for this long, and for twice as long each time, up to five minutes. */
const EJECT_MS = 5_000
const MAX_EJECT_MS = 300_000

/** One address of an upstream: how much it does, and whether it is well. */
export class Member {
  readonly endpoint: Endpoint
  readonly pool: Pool
  /** The pool, if its concurrency is limited. */
  readonly limited: LimitedPool | undefined
  readonly #ejectAfter: number
  readonly #nowMs: () => number
  inFlight = 0
  /** Checks say that it is well. Without checks it is. */
  isHealthy = true
  #failures = 0
  #ejections = 0
  #outUntilMs = 0

  constructor(endpoint: Endpoint, pool: Pool, ejectAfter: number, nowMs: () => number) {
    this.endpoint = endpoint
    this.pool = pool
    this.limited = pool instanceof LimitedPool ? pool : undefined
    this.#ejectAfter = ejectAfter
    this.#nowMs = nowMs
  }

  get authority(): string {
    return this.endpoint.authority
  }

  get scheme(): string {
    return this.endpoint.scheme
  }

  isIn(nowMs: number): boolean {
    return this.isHealthy && nowMs >= this.#outUntilMs
  }

  begin(): void {
    this.inFlight++
  }

  end(): void {
    this.inFlight--
  }

  succeeded(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    if (this.#nowMs() >= this.#outUntilMs) this.#ejections = 0
  }

  /** Takes the address out for a while, when it fails again and again. */
  failed(): void {
    if (++this.#failures < this.#ejectAfter || this.#ejectAfter === 0) return
    const nowMs = this.#nowMs()
    if (nowMs < this.#outUntilMs) return
    this.#outUntilMs = nowMs + Math.min(EJECT_MS * 2 ** this.#ejections, MAX_EJECT_MS)
    this.#ejections = Math.min(this.#ejections + 1, 10)
  }
}
