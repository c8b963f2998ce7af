import { LeasedStore } from '../leased/leased-store.ts'
import { RedisStore, type RedisStoreOptions } from '../redis/redis-store.ts'

/** Redis behind slices, and without them. */
export interface OpenRedis {
  readonly store: LeasedStore
  readonly redis: RedisStore
}

/** Opens counters in Redis. It is loaded when the first store asks for it. */
export function openRedis(options: RedisStoreOptions): OpenRedis {
  const redis = new RedisStore(options)
  return { store: new LeasedStore(redis, { timeoutMs: () => redis.timeoutMs }), redis }
}
