import { compileLimit, type Limit } from 'sluice/internal/core/limit'
import type { SyncStore } from 'sluice/internal/engine/ports'

/** What a ceiling counts: all requests together, or the requests of one address. */
export type CeilingScope = 'requests' | 'per_ip'

export const CEILING_SCOPES: readonly CeilingScope[] = ['requests', 'per_ip']

/** A number of requests per time. */
interface Rate {
  readonly count: number
  readonly windowMs: number
}

/**
 * The ceiling of a process where a routes file does not name one: above what a process serves, and what one address
 * needs.
 */
export const DEFAULT_CEILING: Readonly<Record<CeilingScope, Rate>> = Object.freeze({
  requests: Object.freeze({ count: 50_000, windowMs: 1_000 }),
  per_ip: Object.freeze({ count: 10_000, windowMs: 1_000 }),
})

/** What one process takes at all. Undefined: no bound. */
export type CeilingRates = Readonly<Record<CeilingScope, Limit | undefined>>

/** Returns a rate as it is counted. */
export function ceilingLimit({ count, windowMs }: Rate): Limit {
  return compileLimit({ algorithm: 'token_bucket', limit: count, window: windowMs })
}

/** A request that is too many. */
export interface CeilingHit {
  readonly scope: CeilingScope
  readonly limit: Limit
  readonly retryAfterMs: number
}

/** What one process takes at all. It counts in memory, and is asked before anything else. */
export class Ceiling {
  readonly #store: SyncStore
  readonly #hit: (hit: CeilingHit, ip: string) => void
  readonly #refused: Record<CeilingScope, number> = { requests: 0, per_ip: 0 }

  /**
   * The store belongs to this process and to the ceiling alone: it holds a bounded number of addresses. `onHit` is
   * called for each refusal.
   */
  constructor(store: SyncStore, onHit: (hit: CeilingHit, ip: string) => void = () => {}) {
    this.#store = store
    this.#hit = onHit
  }

  /** How many requests were too many. */
  get refused(): Readonly<Record<CeilingScope, number>> {
    return this.#refused
  }

  /** Counts a request, and returns why it is too many; undefined where it is not. */
  hit(ip: string, { requests, per_ip }: CeilingRates): CeilingHit | undefined {
    const found =
      (per_ip && this.#ask('per_ip', `ip ${ip}`, per_ip)) ?? (requests && this.#ask('requests', 'all', requests))
    if (found === undefined) return undefined
    this.#refused[found.scope]++
    this.#hit(found, ip)
    return found
  }

  #ask(scope: CeilingScope, key: string, limit: Limit): CeilingHit | undefined {
    const verdict = this.#store.decideOne(key, limit, 1)
    if (verdict.allowed) return undefined
    return { scope, limit, retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : 1_000 }
  }
}
