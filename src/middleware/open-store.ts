import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import { KeyedHash } from '../core/hash.ts'
import { KeySpeller } from '../core/key-speller.ts'
import { FailurePolicy } from '../engine/failure-policy.ts'
import type { LimiterParts } from '../engine/limiter.ts'
import type { Store } from '../engine/ports.ts'
import { PARTITIONS, sharedHash } from '../engine/shared-hash.ts'
import { LeasedStore } from '../stores/leased/leased-store.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import type { RedisClient } from '../stores/redis/client-connection.ts'
import { RedisStore } from '../stores/redis/redis-store.ts'

export interface StoreOptions {
  /**
   * Where counters are shared: `redis://…`, `rediss://…`, `redis+cluster://…`, `redis+sentinel://…`; or a client of `redis`
   * or `ioredis`. Default: memory.
   */
  readonly redis?: string | RedisClient | undefined
  /** Spells secret values and partitions; the same on every node. Default: that of the environment, SLUICE_SECRET. */
  readonly secret?: string | undefined
  /** How many counters are kept in memory at the most; about 41 bytes each. Default: 1,000,000. */
  readonly maxKeys?: number
  /** Told what an operator wants to know about Redis, in words. Default: a process warning. */
  readonly log?: (line: string) => void
  /** Memory only, for tests. Default: the system's clock. */
  readonly clock?: Clock
}

/** An OpenStore is where a middleware's counters live. */
export interface OpenStore {
  readonly store: Store
  readonly parts: LimiterParts
  readonly keys: KeySpeller
  /** Set for a store in memory, which answers at once. */
  readonly memory: MemoryStore | undefined
  /** Set for Redis: the store without the failure policy, for whom wants to see its faults. */
  readonly redis: RedisStore | undefined
  /** close lets go of the store; the last one to let go closes the connection. */
  close(): Promise<void>
}

interface SharedStore {
  readonly redis: RedisStore
  readonly store: FailurePolicy
  users: number
}

/** Middlewares of one process on one address share a connection, and so the batches on it. */
const shared = new Map<string | RedisClient, SharedStore>()

/** openStore opens the store that the options name: memory, or Redis behind slices and the failure policy. */
export function openStore({ redis, secret, maxKeys, clock, log = warn }: StoreOptions): OpenStore {
  if (redis === undefined) {
    const memory = new MemoryStore({ ...(maxKeys !== undefined && { maxKeys }), ...(clock && { clock }) })
    const random = randomBytes(8)
    const hash = new KeyedHash(random.readInt32LE(0), random.readInt32LE(4))
    const keys = new KeySpeller(hash)
    return { store: memory, memory, redis: undefined, parts: { hash }, keys, close: async () => {} }
  }
  const entry = shared.get(redis) ?? openRedis(redis, log)
  shared.set(redis, entry)
  entry.users++
  let isOpen = true
  const hash = sharedHash(secret ?? process.env.SLUICE_SECRET ?? '')
  return {
    store: entry.store,
    memory: undefined,
    redis: entry.redis,
    parts: { hash, partitions: PARTITIONS },
    keys: new KeySpeller(hash, PARTITIONS),
    close: async () => {
      if (!isOpen) return
      isOpen = false
      if (--entry.users > 0) return
      shared.delete(redis)
      await entry.store.close()
    },
  }
}

/** openRedis connects. An outage is told once, not at every attempt. */
function openRedis(url: string | RedisClient, log: (line: string) => void): SharedStore {
  const away = new Set<string>()
  const redis = new RedisStore({
    url,
    events: {
      connected: (shard) => void away.delete(shard),
      disconnected: (shard, reason) => {
        if (!away.has(shard))
          log(`no connection to ${shard}: ${reason}; limits follow onStoreFailure until there is one`)
        away.add(shard)
      },
      warned: log,
    },
  })
  return { redis, store: new FailurePolicy(new LeasedStore(redis), new MemoryStore()), users: 0 }
}

function warn(line: string): void {
  process.emitWarning(line, 'SluiceWarning')
}
