import { FailurePolicy } from 'sluice/internal/engine/failure-policy'
import type { LimiterParts } from 'sluice/internal/engine/limiter'
import type { Store } from 'sluice/internal/engine/ports'
import { PARTITIONS, sharedHash } from 'sluice/internal/engine/shared-hash'
import { LeasedStore } from 'sluice/internal/stores/leased/leased-store'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { Certificates } from 'sluice/internal/stores/redis/address'
import { RedisStore } from 'sluice/internal/stores/redis/redis-store'
import type { Log } from '../log/log.ts'
import type { Config, RedisTls } from '../settings/config.ts'
import { readPem } from '../settings/pem-files.ts'
import { credentialsOf } from '../settings/redis-settings.ts'

/** An OpenStore is where counters live, and what the limiter needs to know of it. */
export interface OpenStore {
  readonly store: Store
  readonly parts: LimiterParts
  /** For people: `in memory`, `in Redis`. */
  readonly name: string
}

type StoreConfig = Pick<Config, 'redisUrl' | 'redisTimeoutMs' | 'redisTls' | 'redisSentinelAuth' | 'secret'>

/**
 * openStore opens the store that the configuration names: memory, or Redis behind slices and the failure policy. `reached`
 * is told whether the servers of a shared store can be reached, whenever that may have changed.
 */
export function openStore(config: StoreConfig, log: Log, reached: (isReached: boolean) => void = () => {}): OpenStore {
  if (config.redisUrl === undefined) return { store: new MemoryStore(), parts: {}, name: 'in memory' }
  const { redisUrl: url, redisTimeoutMs: timeoutMs, redisTls, redisSentinelAuth, secret } = config
  const away = new Set<string>()
  const redis = new RedisStore({
    url,
    timeoutMs,
    tls: certificatesOf(redisTls),
    sentinelCredentials: redisSentinelAuth === undefined ? undefined : credentialsOf(redisSentinelAuth),
    events: {
      connected: (shard) => {
        away.delete(shard)
        log.info('store.connected', `connected to ${shard}`, { shard })
        if (away.size === 0) reached(true)
      },
      // Told once, not at every attempt: an outage has enough to read.
      disconnected: (shard, reason) => {
        if (!away.has(shard)) {
          log.error('store.lost', `no connection to ${shard}: ${reason}; trying until there is one`, { shard, reason })
        }
        away.add(shard)
        reached(false)
      },
      warned: (warning) => log.warn('store.warning', warning),
      breakerChanged: (shard, state) => {
        const text = `circuit breaker of ${shard} is ${state.replace('_', ' ')}`
        log.write({
          level: state === 'open' ? 'error' : 'info',
          event: 'breaker.changed',
          message: text,
          fields: { shard, state },
        })
      },
    },
  })
  const store = new FailurePolicy(new LeasedStore(redis), new MemoryStore())
  return { store, parts: { hash: sharedHash(secret ?? ''), partitions: PARTITIONS }, name: 'in Redis' }
}

function certificatesOf({ caFile, certFile, keyFile, anyHostName }: RedisTls): Certificates {
  return {
    ...(caFile !== undefined && { ca: readPem(caFile) }),
    ...(certFile !== undefined && { cert: readPem(certFile) }),
    ...(keyFile !== undefined && { key: readPem(keyFile) }),
    ...(anyHostName && { checkServerIdentity: () => undefined }),
  }
}
