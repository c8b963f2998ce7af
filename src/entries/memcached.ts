import { SharedRateLimiter } from '../library/shared-rate-limit.ts'
import type { MemcachedOptions } from '../stores/memcached/memcached-options.ts'
import { memcachedPlace } from '../stores/memcached/memcached-place.ts'
import { openAppCas } from '../stores/open/open-cas.ts'
import type { StorePlace } from '../stores/open/store-options.ts'

export { SluiceError } from '../core/errors.ts'
export type { MemcachedOptions, StorePlace }

const code: object = { openAppRedis: openAppCas, SharedRateLimiter }

/**
 * Names one or several Memcached as the place where counters live, by their addresses.
 *
 *   const limiter = rateLimit({ limit: 100, window: '1m', store: memcached('localhost:11211') })
 */
export function memcached(servers: string | readonly string[], options: MemcachedOptions = {}): StorePlace {
  return { place: memcachedPlace(servers, options), code }
}
