import { SluiceError } from '../../core/errors.ts'
import type { RedisClient } from '../redis/connection/client-connection.ts'
import { openMemory } from './open-memory.ts'
import type { AppRedisOptions, OpenStore } from './opened-store.ts'
import { redisCodeOf } from './redis-code.ts'
import { placeOf } from './redis-place.ts'
import type { StoreOptions, StorePlace } from './store-options.ts'

/** What an app says of where its counters live, and who observes that. */
export interface AppStoreOptions extends StoreOptions, Pick<AppRedisOptions, 'observer'> {}

/** Opens the store that an app names. Limits in memory have one each; those at one place share it. */
export function openAppStore(options: AppStoreOptions): OpenStore {
  const named = placeOfCounters(options)
  if (named === undefined) return openMemory(options)
  const place = placeOf(named)?.place ?? (named as string | RedisClient)
  return redisCodeOf(named).openAppRedis(place as RedisClient, options)
}

/** Returns where an app has its counters: undefined in memory. */
export function placeOfCounters({ redis, store }: StoreOptions): StoreOptions['redis'] | StorePlace {
  if (redis === undefined || store === undefined) return redis ?? store
  throw new SluiceError('GATE_OPTIONS_INVALID', 'store', 'redis is also given: counters live in one place')
}
