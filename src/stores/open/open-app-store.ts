import type { RedisClient } from '../redis/connection/client-connection.ts'
import { openMemory } from './open-memory.ts'
import type { AppRedisOptions, OpenStore } from './opened-store.ts'
import { redisCodeOf } from './redis-code.ts'
import { placeOf } from './redis-place.ts'
import type { StoreOptions } from './store-options.ts'

/** What an app says of where its counters live, and who observes that. */
export interface AppStoreOptions extends StoreOptions, Pick<AppRedisOptions, 'observer'> {}

/** Opens the store that an app names. Limits in memory have one each; those on one Redis share it. */
export function openAppStore(options: AppStoreOptions): OpenStore {
  const { redis } = options
  if (redis === undefined) return openMemory(options)
  const place = placeOf(redis)?.place ?? (redis as string | RedisClient)
  return redisCodeOf(redis).openAppRedis(place, options)
}
