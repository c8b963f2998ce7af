import { openAppRedis } from './open-app-redis.ts'
import type { RedisCode } from './opened-store.ts'
import type { StoreOptions } from './store-options.ts'

const CODE: RedisCode = { openAppRedis }

/** Returns the code that opens a Redis. In the packed library, redis-code.packed.ts takes the place of this file. */
export function redisCodeOf(_redis: StoreOptions['redis']): RedisCode {
  return CODE
}
