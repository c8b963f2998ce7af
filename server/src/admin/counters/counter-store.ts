import type { Verdict } from 'sluice/internal/core/decision'
import type { KeyEncoder } from 'sluice/internal/core/key-encoder'
import type { Limit } from 'sluice/internal/core/limit'
import type { ChargePolicy, Store } from 'sluice/internal/engine/ports'
import type { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import type { RedisStore } from 'sluice/internal/stores/redis/redis-store'

export interface Counter {
  readonly key: string
  readonly limit: Pick<Limit, 'shape' | 'space'>
}

/** A CounterStore is where the parts looks at counters and forgets them. No decision is made on it. */
export interface CounterStore {
  readonly keys: KeyEncoder
  /** look is answered as the next hit of a rule would be. It charges nothing. It rejects with REDIS_UNREACHABLE. */
  look(key: string, limit: Limit, policy?: ChargePolicy): Promise<Verdict>
  /** reset forgets counters, here and in what every node remembers, and says how many there were. */
  reset(counters: readonly Counter[]): Promise<number>
  /** tellCallers has every process of every node forget what it alone knows of a caller: `customer ID` or `key ID`. */
  tellCallers(caller: string): void
  state(): 'memory' | 'up' | 'away'
  /** Undefined where nothing is shared. */
  readonly redis: (() => Promise<RedisStore>) | undefined
  close(): Promise<void>
}

/** memoryCounterStore is the memory of the only process that there is. `forget` is called with the key of each that is reset. */
export function memoryCounterStore(
  memory: MemoryStore,
  keys: KeyEncoder,
  forget: (key: string) => void = () => {},
): CounterStore {
  return {
    keys,
    look: async (key, limit) => memory.decideOne(key, limit, 0),
    reset: async (counters) => {
      const before = memory.stats.keys
      for (const { key, limit } of counters) {
        memory.reset(key, limit)
        forget(key)
      }
      return before - memory.stats.keys
    },
    tellCallers: () => {},
    state: () => 'memory',
    redis: undefined,
    close: async () => {},
  }
}

/** Returns the counters of a cluster of peers. How many of them there were is not known where another node has them. */
export function peersCounterStore(store: Store, keys: KeyEncoder, forget: (key: string) => void): CounterStore {
  return {
    keys,
    look: async (key, limit, policy) => {
      const [verdict] = await store.decide([{ key, limit, cost: 0, enforce: true, ...(policy && { policy }) }])
      return verdict
    },
    reset: async (counters) => {
      await Promise.all(counters.map(({ key, limit }) => store.reset(key, limit as Limit)))
      for (const { key } of counters) forget(key)
      return counters.length
    },
    tellCallers: () => {},
    state: () => 'memory',
    redis: undefined,
    close: async () => {},
  }
}
