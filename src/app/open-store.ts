import { createHash } from 'node:crypto'
import { KeyedHash } from '../core/hash.ts'
import { FailurePolicy } from '../engine/failure-policy.ts'
import type { LimiterParts } from '../engine/limiter.ts'
import type { Store } from '../engine/ports.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { RedisStore } from '../stores/redis/redis-store.ts'

/** What the store tells while the service runs, in words. */
export type StoreLog = (line: string) => void

/** An OpenStore is where counters live, and what the limiter needs to know of it. */
export interface OpenStore {
  readonly store: Store
  readonly parts: LimiterParts
  /** For people: `in memory`, `in Redis`. */
  readonly name: string
}

/**
 * How many partitions callers are spread over. It is the number of script calls that one turn of the event loop makes at
 * most on a cluster, and the number of nodes that can share the work; it is the same on every node, for ever.
 */
const PARTITIONS = 32

/** openStore opens the store that the configuration names: memory, or Redis behind the failure policy. */
export function openStore(redisUrl: string | undefined, secret: string | undefined, log: StoreLog): OpenStore {
  if (redisUrl === undefined) return { store: new MemoryStore(), parts: {}, name: 'in memory' }
  if (secret === undefined) log('SLUICE_SECRET is not set: set it to the same text on every node (docs/redis.md)')
  const away = new Set<string>()
  const redis = new RedisStore({
    url: redisUrl,
    events: {
      connected: (shard) => {
        away.delete(shard)
        log(`connected to ${shard}`)
      },
      // Told once, not at every attempt: an outage has enough to read.
      disconnected: (shard, reason) => {
        if (!away.has(shard)) log(`no connection to ${shard}: ${reason}; trying until there is one`)
        away.add(shard)
      },
      warned: log,
      breakerChanged: (shard, state) => log(`circuit breaker of ${shard} is ${state.replace('_', ' ')}`),
    },
  })
  const store = new FailurePolicy(redis, new MemoryStore())
  return { store, parts: { hash: sharedHash(secret ?? ''), partitions: PARTITIONS }, name: 'in Redis' }
}

/** sharedHash makes the hash that all nodes with the same secret agree on. */
function sharedHash(secret: string): KeyedHash {
  const digest = createHash('sha256').update(`sluice ${secret}`).digest()
  return new KeyedHash(digest.readInt32LE(0), digest.readInt32LE(4))
}
