import { openAppRedis } from './open-app-redis.ts'
import type { RedisCode } from './opened-store.ts'

const CODE: RedisCode = { openAppRedis }

/** Returns the code that opens Redis. In the packed library, redis-code.packed.ts takes the place of this file. */
export function redisCode(): RedisCode {
  return CODE
}
