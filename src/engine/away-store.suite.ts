import type { MemoryStore } from '../stores/memory/memory-store.ts'
import type { Store } from './ports.ts'

/** Returns a store in memory as if it were a round trip away. */
export function awayStore(store: MemoryStore): Store {
  return {
    decide: async (charges) => store.decide(charges),
    acquire: async (charges) => store.acquire(charges),
    release: async (permits) => store.release(permits),
    renew: async (permits) => store.renew(permits),
    reset: async (key, limit) => store.reset(key, limit),
    close: async () => store.close(),
  }
}
