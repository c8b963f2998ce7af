import { loadEntry } from '../../core/load-entry.ts'
import type { RedisCode } from './opened-store.ts'
import { placeOf } from './redis-place.ts'
import type { StoreOptions, StorePlace } from './store-options.ts'

/** Returns the code that comes with a Redis, and loads it where nothing is bundled. */
export function redisCodeOf(redis: StoreOptions['redis'] | StorePlace): RedisCode {
  const place = placeOf(redis)
  if (place !== undefined) return place.code as RedisCode
  const advice = "import { redis } from 'sluice/redis' and pass redis(…) with the address or the client"
  return loadEntry('sluice/redis', advice).code as RedisCode
}
