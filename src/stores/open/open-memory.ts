import { KeyedHash } from '../../core/hash.ts'
import { KeyEncoder } from '../../core/key-encoder.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import type { OpenStore, OpenStoreOptions } from './opened-store.ts'

/** Opens counters in the memory of this process. */
export function openMemory({ maxKeys, clock }: Pick<OpenStoreOptions, 'maxKeys' | 'clock'>): OpenStore {
  const memory = new MemoryStore({ ...(maxKeys !== undefined && { maxKeys }), ...(clock && { clock }) })
  const hash = KeyedHash.random()
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
