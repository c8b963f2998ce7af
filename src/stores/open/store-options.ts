import type { Clock } from '../../core/clock.ts'
import type { KeyForm } from '../../core/key-form.ts'
import type { RedisClient } from '../redis/connection/client-connection.ts'

/** What an app says of where its counters live. */
export interface StoreOptions {
  /**
   * Where counters are shared: `redis://…`, `rediss://…`, `redis+cluster://…`, `redis+sentinel://…`; or a client of
   * `redis` or `ioredis`. In a bundle, `redis(…)` of `sluice/redis` with either. Default: memory.
   */
  readonly redis?: string | RedisClient | RedisPlace | undefined
  /** Where counters are shared other than in Redis, such as `postgres(pool)` of `sluice/postgres`. */
  readonly store?: StorePlace | undefined
  /**
   * Keys the hashes of secret values and partitions; the same on every node. Default: SLUICE_SECRET of the environment.
   */
  readonly secret?: string | undefined
  /**
   * How long Redis may take where a limit or a rule does not say, from 1 to 60,000. Default: 5 to 100, by how fast its
   * answers were.
   */
  readonly redisTimeoutMs?: number | undefined
  /** What keys in Redis begin with: apps with other prefixes share nothing. Default: nothing. */
  readonly keyPrefix?: string | undefined
  /**
   * How counters are named in Redis: `'compact'` takes less memory there, and needs a secret. Default: `'readable'`.
   */
  readonly keys?: KeyForm | undefined
  /** The maximum number of counters to keep in memory; about 41 bytes each. Default: 1,000,000. */
  readonly maxKeys?: number
  /** Receives lines about Redis for operators. Default: a process warning. */
  readonly log?: (line: string) => void
  /** Memory only, for tests. Default: the system's clock. */
  readonly clock?: Clock
}

/** The options of what counts in memory or in Redis alone. */
export type RedisOptions = Omit<StoreOptions, 'store'>

/** A place for counters with the code for it, as the entries of other stores than Redis return it. */
export interface StorePlace {
  readonly place: object
  /** What opens it: a RedisCode. */
  readonly code: object
}

/** A Redis with the code for it, as `redis()` of `sluice/redis` returns it: what a bundler can follow. */
export interface RedisPlace {
  readonly place: string | RedisClient
  /** What opens it: a RedisCode. */
  readonly code: object
}
