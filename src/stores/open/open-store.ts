import { KeyEncoder } from '../../core/key-encoder.ts'
import { checkCompact } from '../../core/key-form.ts'
import { checkKeyPrefix } from '../../core/key-prefix.ts'
import { FailurePolicy } from '../../engine/failure-policy.ts'
import { PARTITIONS, sharedHash } from '../../engine/shared-hash.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import { parseRedisUrl } from '../redis/connection/address.ts'
import { checkClient, clientReady, type RedisClient } from '../redis/connection/client-connection.ts'
import type { RedisStoreOptions } from '../redis/redis-store.ts'
import { firstConnection } from './first-connection.ts'
import { LazyStore } from './lazy-store.ts'
import { openMemory } from './open-memory.ts'
import type { OpenRedis } from './open-redis.ts'
import type { OpenStore, OpenStoreOptions, StoreEvents } from './opened-store.ts'

export type { OpenStore, OpenStoreOptions, StoreEvents } from './opened-store.ts'

/**
 * Opens the store that the options name: memory, or Redis behind slices and the failure policy. Invalid options throw
 * immediately; the code for Redis is loaded only where it is needed.
 */
export function openStore(options: OpenStoreOptions): OpenStore {
  return options.redis === undefined ? openMemory(options) : openShared({ ...options, redis: options.redis })
}

/** Opens Redis behind slices and the failure policy. */
export function openShared(options: OpenStoreOptions & { readonly redis: string | RedisClient }): OpenStore {
  const { redis: place, secret = '', keyPrefix = '', events = {} } = options
  checkKeyPrefix(keyPrefix, 'keyPrefix')
  checkCompact(options.keys, secret, 'keys')
  if (typeof place === 'string') {
    parseRedisUrl(place)
  } else checkClient(place)
  const attempt = firstAttempt(events)
  let loaded: OpenRedis | undefined
  const loading = import('./open-redis.ts').then(({ openRedis }) => {
    loaded = openRedis(redisOptions(options, place, attempt.heard))
    return loaded
  })
  // Callers receive the error with their calls; without calls it must not be unhandled.
  loading.catch((error: unknown) => events.warned?.(`counters cannot be shared: ${(error as Error).message}`))
  const hash = sharedHash(secret)
  const local = new MemoryStore()
  let connecting: Promise<void> | undefined
  const connected = (): Promise<void> => {
    connecting ??= firstConnection(typeof place === 'string' ? attempt.ready : clientReady(place))
    return connecting
  }
  const lazy = new LazyStore(
    loading.then(({ store }) => store),
    connected,
  )
  const policy = new FailurePolicy(lazy, local, events)
  const hearResets = ({ redis }: OpenRedis): void => {
    redis.listen({ noticed: (notice) => policy.noticed(notice), connected() {} })
  }
  loading.then(hearResets, () => {})
  return {
    store: policy,
    parts: { hash, partitions: PARTITIONS, keyPrefix },
    keys: new KeyEncoder(hash, PARTITIONS, keyPrefix),
    memory: undefined,
    redis: () => loading,
    connectedRedis: async () => {
      const open = await loading
      await connected()
      return open
    },
    name: 'in Redis',
    ready: typeof place === 'string' ? attempt.ready : Promise.resolve(),
    claim: (domain) => domain,
    stats: () => {
      const { keys, evicted, shared } = local.stats
      return {
        ...loaded?.stats,
        ...(loaded && { noticesIgnored: loaded.redis.noticesIgnored }),
        ...{ localKeys: keys, localEvicted: evicted, localShared: shared },
      }
    },
    close() {
      attempt.end()
      return this.store.close() as Promise<void>
    },
  }
}

function redisOptions(options: OpenStoreOptions, url: string | RedisClient, events: StoreEvents): RedisStoreOptions {
  const { timeoutMs, mostTimeoutMs, keyPrefix, keys, secret = '', tls, sentinelCredentials, keepAlive = true } = options
  return {
    url,
    sentinelCredentials,
    keepAlive,
    events,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(mostTimeoutMs !== undefined && { mostTimeoutMs }),
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(keys === 'compact' && { compactKeys: sharedHash(secret) }),
    ...(tls !== undefined && { tls }),
  }
}

interface FirstAttempt {
  readonly ready: Promise<void>
  readonly heard: StoreEvents
  /** Resolves `ready`: the store is closed. */
  end(): void
}

/**
 * Observes connections, forwards the events, and resolves when the first attempt to connect has ended: for a cluster,
 * to each server that has keys.
 */
function firstAttempt(events: StoreEvents): FirstAttempt {
  const pending = new Set<string>()
  let settle = (): void => {}
  const ready = new Promise<void>((resolve) => {
    settle = resolve
  })
  const attempted = (shard: string): void => {
    pending.delete(shard)
    if (pending.size === 0) settle()
  }
  const heard: StoreEvents = {
    ...events,
    connecting: (shard) => {
      pending.add(shard)
      events.connecting?.(shard)
    },
    connected: (shard) => {
      events.connected?.(shard)
      attempted(shard)
    },
    disconnected: (shard, reason) => {
      events.disconnected?.(shard, reason)
      attempted(shard)
    },
    retired: (shard) => {
      events.retired?.(shard)
      attempted(shard)
    },
  }
  return { ready, heard, end: settle }
}
