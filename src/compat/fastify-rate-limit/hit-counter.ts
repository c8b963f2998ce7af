import type { MaybePromise } from '../../engine/ports.ts'
import { type WindowCount, WindowCounter } from '../../stores/hits/window-counter.ts'
import type { HitParams } from './hit-params.ts'
import type { FastifyRateLimitStore, RateLimitPluginOptions } from './options.ts'

/** Counts the hits of a plugin, or of a route with separate options. */
export interface HitCounter {
  count(key: string, windowMs: number, most: number): MaybePromise<WindowCount>
  /** Absent where a store of the app's own cannot look without counting. */
  readonly read?: ((key: string, windowMs: number, most: number) => MaybePromise<WindowCount>) | undefined
  child(params: HitParams): HitCounter
  close(): MaybePromise<void>
}

const DEFAULT_PREFIX = 'fastify-rate-limit-'

/** Opens what the options name: a store of the app's own, Redis, or memory. */
export function hitCounter(options: RateLimitPluginOptions, params: HitParams): HitCounter {
  if (options.store) return new StoreCounter(new options.store(params))
  return new OwnCounter(options, params, options.nameSpace ?? DEFAULT_PREFIX)
}

/** Counts on the counters of everything else. Each route has its own: in memory as in Redis. */
class OwnCounter extends WindowCounter implements HitCounter {
  readonly #options: RateLimitPluginOptions
  readonly #prefix: string

  constructor(options: RateLimitPluginOptions, params: HitParams, prefix: string) {
    const { redis, secret, skipOnError } = options
    super({
      prefix,
      beyond: params.continueExceeding ? 'restart' : params.exponentialBackoff ? 'double' : 'keep',
      // Users that leave the connection to us and do not set what happens to errors get none.
      onStoreFailure: typeof redis === 'string' && skipOnError === undefined ? 'local' : 'throw',
      ...(redis && { redis }),
      ...(secret !== undefined && { secret }),
      ...(params.cache !== undefined && { maxKeys: params.cache }),
    })
    this.#options = options
    this.#prefix = prefix
  }

  child(params: HitParams): HitCounter {
    return new OwnCounter(this.#options, params, `${this.#prefix}${routeName(params)}-`)
  }
}

/** Returns the name that separates counters of one Redis. What belongs to no route is named after its limit. */
function routeName({ routeInfo, max, timeWindow }: HitParams): string {
  if (routeInfo?.url !== undefined) return `${routeInfo.method}${routeInfo.url}`
  return [max, timeWindow].map((each) => (typeof each === 'number' ? each : 'function')).join('/')
}

/** Counts in a store of the app's own. */
class StoreCounter implements HitCounter {
  readonly #store: FastifyRateLimitStore
  readonly read: HitCounter['read']

  constructor(store: FastifyRateLimitStore) {
    this.#store = store
    if (typeof store.read === 'function') this.read = (key, windowMs, most) => this.#ask('read', key, windowMs, most)
  }

  count(key: string, windowMs: number, most: number): Promise<WindowCount> {
    return this.#ask('incr', key, windowMs, most)
  }

  child(params: HitParams): HitCounter {
    return new StoreCounter(this.#store.child(params as never))
  }

  close(): void {}

  #ask(method: 'incr' | 'read', key: string, windowMs: number, most: number): Promise<WindowCount> {
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null, result?: WindowCount): void => {
        if (error) reject(error)
        else resolve(result ?? { current: 0, ttl: 0 })
      }
      this.#store[method]?.(key, settle, windowMs, most)
    })
  }
}
