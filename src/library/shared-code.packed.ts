import { redisCodeOf } from '../stores/open/redis-code.packed.ts'
import type { SharedRateLimiter } from './shared-rate-limit.ts'

type Shared = typeof SharedRateLimiter

/** Makes a limit on Redis, with code that comes with what names the Redis, or is loaded where nothing is bundled. */
export function sharedLimiter(...parameters: ConstructorParameters<Shared>): SharedRateLimiter {
  const { redis, store } = parameters[2]
  const { SharedRateLimiter } = redisCodeOf(redis ?? store) as unknown as { readonly SharedRateLimiter: Shared }
  return new SharedRateLimiter(...parameters)
}
