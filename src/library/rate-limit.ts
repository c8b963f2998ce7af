import type { Clock } from '../core/clock.ts'
import type { Verdict } from '../core/decision.ts'
import { got, SluiceError } from '../core/errors.ts'
import { compileLimit, holdsPermits, type Limit, type LimitOptions, MAX_COUNT } from '../core/limit.ts'
import { type MemoryStats, MemoryStore } from '../stores/memory/memory-store.ts'
import { Permit } from './permit.ts'

export interface RateLimitOptions extends LimitOptions {
  /** How many callers are remembered at the most; about 41 bytes each. Default: 1,000,000. */
  readonly maxKeys?: number
  /** For tests and simulations. Default: the system's clock. */
  readonly clock?: Clock
}

const MOST_KEY_CHARACTERS = 65_536

/**
 * rateLimit makes a limiter for one limit, in memory:
 *
 *   const limiter = rateLimit({ limit: 100, window: '1m' })
 *   if (!limiter.check('user:42').allowed) return tooManyRequests()
 */
export function rateLimit(options: RateLimitOptions): RateLimiter {
  return new RateLimiter(options)
}

export class RateLimiter {
  readonly limit: Limit
  readonly #store: MemoryStore

  constructor(options: RateLimitOptions) {
    const { maxKeys, clock, ...limit } = options
    this.limit = compileLimit(limit)
    this.#store = new MemoryStore({ ...(maxKeys !== undefined && { maxKeys }), ...(clock && { clock }) })
  }

  /** check decides about one request of a caller, and charges it when it is allowed. It never waits. */
  check(key: string, cost = 1): Verdict {
    checkKey(key)
    if (!Number.isInteger(cost) || cost > MAX_COUNT || cost < -MAX_COUNT) {
      throw new SluiceError('COST_INVALID', 'cost', got(cost))
    }
    return this.#store.decideOne(key, this.limit, cost)
  }

  /** peek looks at a caller's budget without charging. */
  peek(key: string): Verdict {
    return this.check(key, 0)
  }

  /** refund gives budget back, for instance when the work that was charged did not happen. */
  refund(key: string, cost = 1): Verdict {
    if (!(cost >= 0)) throw new SluiceError('COST_INVALID', 'cost', got(cost))
    return this.check(key, -cost)
  }

  /** acquire takes a place of a `concurrency` limit; the permit gives it back. */
  acquire(key: string, cost = 1): Permit {
    checkKey(key)
    if (!holdsPermits(this.limit)) {
      throw new SluiceError('ACQUIRE_NOT_APPLICABLE', 'acquire', `this limit is a ${this.limit.algorithm}`)
    }
    if (!Number.isInteger(cost) || cost < 1 || cost > MAX_COUNT)
      throw new SluiceError('COST_INVALID', 'cost', got(cost))
    const { verdicts, lease } = this.#store.acquire([{ key, limit: this.limit, cost, enforce: true }])
    return new Permit(verdicts[0], lease && (() => this.#store.release(lease)))
  }

  /** reset gives a caller the whole budget again. */
  reset(key: string): void {
    checkKey(key)
    this.#store.reset(key, this.limit)
  }

  get stats(): MemoryStats {
    return this.#store.stats
  }
}

function checkKey(key: unknown): void {
  if (typeof key !== 'string' || key.length === 0 || key.length > MOST_KEY_CHARACTERS) {
    throw new SluiceError('KEY_INVALID', 'key', typeof key === 'string' ? `got ${key.length} characters` : got(key))
  }
}
