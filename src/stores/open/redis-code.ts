import { openAppRedis } from './open-app-redis.ts'
import type { RedisCode } from './opened-store.ts'
import { placeOf } from './redis-place.ts'
import type { StoreOptions, StorePlace } from './store-options.ts'

const CODE: RedisCode = { openAppRedis }

/**
 * Returns the code that opens a place: what comes with it, or that for Redis. In the packed library,
 * redis-code.packed.ts takes the place of this file.
 */
export function redisCodeOf(place: StoreOptions['redis'] | StorePlace): RedisCode {
  return (placeOf(place)?.code as RedisCode | undefined) ?? CODE
}
