import { openMemory } from './open-memory.ts'
import type { OpenStore, RedisCode } from './opened-store.ts'
import { redisCode } from './redis-code.ts'
import type { RedisPlace, StoreOptions } from './store-options.ts'

/** Opens the store that an app names. Limits in memory have one each; those on one Redis share it. */
export function openAppStore(options: StoreOptions): OpenStore {
  const { redis } = options
  if (redis === undefined) return openMemory(options)
  return isPlace(redis)
    ? (redis.code as RedisCode).openAppRedis(redis.place, options)
    : redisCode().openAppRedis(redis, options)
}

/** No client has code of ours on it. */
function isPlace(redis: NonNullable<StoreOptions['redis']>): redis is RedisPlace {
  return typeof redis === 'object' && 'code' in redis && 'place' in redis
}
