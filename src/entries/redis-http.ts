import { SharedRateLimiter } from '../library/shared-rate-limit.ts'
import { openAppRedis } from '../stores/open/open-app-redis.ts'
import type { AppRedisOptions } from '../stores/open/opened-store.ts'
import type { StorePlace } from '../stores/open/store-options.ts'
import type { NodeRedisClient } from '../stores/redis/connection/client-connection.ts'
import { type HttpRedisOptions, httpRedisClient } from '../stores/redis-http/http-place.ts'

export { SluiceError } from '../core/errors.ts'
export type { HttpRedisOptions, StorePlace }

const code: object = {
  openAppRedis: (client: NodeRedisClient, { redisTimeoutMs = 500, ...options }: AppRedisOptions) =>
    openAppRedis(client, { ...options, redisTimeoutMs }),
  SharedRateLimiter,
}

/**
 * Names a Redis that answers over HTTP, in the protocol of Upstash, as the place where counters live.
 *
 *   const limiter = rateLimit({ limit: 100, window: '1m', store: redisHttp({ url, token }) })
 */
export function redisHttp(options: HttpRedisOptions): StorePlace {
  return { place: httpRedisClient(options), code }
}
