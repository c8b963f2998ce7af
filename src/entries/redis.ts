import { SharedRateLimiter } from '../library/shared-rate-limit.ts'
import { redisCodeOf } from '../stores/open/redis-code.ts'
import type { RedisPlace } from '../stores/open/store-options.ts'
import type { RedisClient } from '../stores/redis/connection/client-connection.ts'

export { SluiceError } from '../core/errors.ts'
export type { RedisClient, RedisPlace }

/** @internal For limits that name a Redis where nothing is bundled. */
export const code: object = { ...redisCodeOf(undefined), SharedRateLimiter }

/**
 * Names a Redis together with the code for it, which bundlers follow. Where nothing is bundled, the address or the
 * client alone does the same.
 *
 *   rateLimit({ limit: 100, window: '1m', redis: redis('redis://localhost') })
 */
export function redis(place: string | RedisClient): RedisPlace {
  return { place, code }
}
