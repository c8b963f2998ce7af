import type { Clock } from '../../core/clock.ts'
import { KeyEncoder } from '../../core/key-encoder.ts'
import { checkCompact, type KeyForm } from '../../core/key-form.ts'
import { checkKeyPrefix } from '../../core/key-prefix.ts'
import { FailurePolicy, type FailurePolicyEvents } from '../../engine/failure-policy.ts'
import { type LimiterParts, randomHash } from '../../engine/limiter.ts'
import type { Store } from '../../engine/ports.ts'
import { PARTITIONS, sharedHash } from '../../engine/shared-hash.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import type { BatcherEvents } from '../redis/batch/batcher.ts'
import { type Certificates, type Credentials, parseRedisUrl } from '../redis/connection/address.ts'
import { checkClient, clientReady, type RedisClient } from '../redis/connection/client-connection.ts'
import type { ConnectionEvents } from '../redis/connection/connection.ts'
import type { RedisStoreOptions } from '../redis/redis-store.ts'
import { firstConnection } from './first-connection.ts'
import { LazyStore } from './lazy-store.ts'
import type { OpenRedis } from './open-redis.ts'

/** Events of a store: its connections, its calls, and decisions that were made without it. */
export type StoreEvents = Partial<ConnectionEvents & BatcherEvents & FailurePolicyEvents>

export interface OpenStoreOptions {
  /** Where counters are shared: an address, or a client that is connected already. Default: memory. */
  readonly redis?: string | RedisClient | undefined
  /** Keys the hashes of secret values and partitions; the same on every node. */
  readonly secret?: string | undefined
  /** What keys in Redis begin with; installations with other prefixes share nothing. Default: nothing. */
  readonly keyPrefix?: string | undefined
  /** How counters are named in Redis. Default: readable. */
  readonly keys?: KeyForm | undefined
  /** How long Redis may take where a rule does not say. */
  readonly timeoutMs?: number | undefined
  readonly tls?: Certificates
  readonly sentinelCredentials?: Credentials | undefined
  /** Connections keep the process alive. Default: true. */
  readonly keepAlive?: boolean
  /** Memory only: the maximum number of counters to keep. */
  readonly maxKeys?: number | undefined
  /** Memory only. Default: the system's clock. */
  readonly clock?: Clock | undefined
  readonly events?: StoreEvents
}

/** Where counters live, and what is needed to ask it. */
export interface OpenStore {
  readonly store: Store
  /** How keys are encoded for it. */
  readonly parts: Pick<LimiterParts, 'hash' | 'partitions' | 'keyPrefix'>
  readonly keys: KeyEncoder
  /** Set for a store in memory, which is synchronous. */
  readonly memory: MemoryStore | undefined
  /** Set for Redis: the store without the failure policy, for callers that need its faults. */
  readonly redis: (() => Promise<OpenRedis>) | undefined
  /** Like `redis`, for calls: it waits for the first connection, as every call of `store` does. */
  readonly connectedRedis: (() => Promise<OpenRedis>) | undefined
  /** For people: `in memory`, `in Redis`. */
  readonly name: string
  /**
   * Resolves when the first attempt to connect has ended, successfully or not: for a cluster, to each of its masters.
   * Immediately for a client that the app passed.
   */
  readonly ready: Promise<void>
  /**
   * Returns the domain of a limit without a name, derived from its options: other limits with the same options get
   * another, so that they share nothing. It is released when the store is closed.
   */
  claim(domain: string, encoded: string): string
  /** What it counted, by name. */
  stats(): Readonly<Record<string, number>>
  close(): Promise<void>
}

/**
 * Opens the store that the options name: memory, or Redis behind slices and the failure policy. Invalid options throw
 * immediately; the code for Redis is loaded only where it is needed.
 */
export function openStore(options: OpenStoreOptions): OpenStore {
  return options.redis === undefined ? openMemory(options) : openShared({ ...options, redis: options.redis })
}

function openMemory({ maxKeys, clock }: OpenStoreOptions): OpenStore {
  const memory = new MemoryStore({ ...(maxKeys !== undefined && { maxKeys }), ...(clock && { clock }) })
  const hash = randomHash()
  return {
    store: memory,
    parts: { hash },
    keys: new KeyEncoder(hash),
    memory,
    redis: undefined,
    connectedRedis: undefined,
    name: 'in memory',
    ready: Promise.resolve(),
    claim: (domain) => domain,
    stats: () => ({ ...memory.stats }),
    close: async () => memory.close(),
  }
}

function openShared(options: OpenStoreOptions & { readonly redis: string | RedisClient }): OpenStore {
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
        ...loaded?.store.stats,
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
  const { timeoutMs, keyPrefix, keys, secret = '', tls, sentinelCredentials, keepAlive = true } = options
  return {
    url,
    sentinelCredentials,
    keepAlive,
    events,
    ...(timeoutMs !== undefined && { timeoutMs }),
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
