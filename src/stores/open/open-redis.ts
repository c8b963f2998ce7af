import { type LeasedStats, LeasedStore } from '../leased/leased-store.ts'
import { RedisStore, type RedisStoreOptions } from '../redis/redis-store.ts'
import { type SampledStats, SampledStore } from '../sampled/sampled-store.ts'

/** Redis behind slices and shares to drop, and without them. */
export interface OpenRedis {
  readonly store: SampledStore
  readonly redis: RedisStore
  readonly stats: LeasedStats & SampledStats
}

/** Opens counters in Redis. It is loaded when the first store asks for it. */
export function openRedis(options: RedisStoreOptions): OpenRedis {
  const redis = new RedisStore(options)
  const leased = new LeasedStore(redis, { timeoutMs: () => redis.timeoutMs })
  const store = new SampledStore(leased, redis)
  return {
    store,
    redis,
    get stats() {
      return { ...leased.stats, ...store.stats }
    },
  }
}
