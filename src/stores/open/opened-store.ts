import type { Clock } from '../../core/clock.ts'
import type { KeyEncoder } from '../../core/key-encoder.ts'
import type { KeyForm } from '../../core/key-form.ts'
import type { FailurePolicyEvents } from '../../engine/failure-policy.ts'
import type { LimiterParts } from '../../engine/limiter.ts'
import type { Observer } from '../../engine/observer.ts'
import type { Store } from '../../engine/ports.ts'
import type { MemoryStore } from '../memory/memory-store.ts'
import type { BatcherEvents } from '../redis/batch/batcher.ts'
import type { Certificates, Credentials } from '../redis/connection/address.ts'
import type { RedisClient } from '../redis/connection/client-connection.ts'
import type { ConnectionEvents } from '../redis/connection/connection.ts'
import type { OpenRedis } from './open-redis.ts'
import type { StoreOptions } from './store-options.ts'

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
  /** How long Redis may take where a rule does not say. Default: learned from its answers. */
  readonly timeoutMs?: number | undefined
  /** The longest that is learned. Default: 100. */
  readonly mostTimeoutMs?: number
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

/** What an app says of a Redis in addition to where it is. */
export interface AppRedisOptions
  extends Pick<StoreOptions, 'secret' | 'keyPrefix' | 'keys' | 'redisTimeoutMs' | 'log'> {
  /** Receives the deadlines of its servers, and decisions without them. */
  readonly observer?: Observer | undefined
}

/** The code that opens Redis, or another place: it is loaded when a limit names one. */
export interface RedisCode {
  readonly openAppRedis: (redis: string | RedisClient, options: AppRedisOptions) => OpenStore
}
