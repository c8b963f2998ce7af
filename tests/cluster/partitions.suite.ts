import { randomUUID } from 'node:crypto'
import type { Charge } from '../../src/engine/ports.ts'
import type { StoreFault } from '../../src/engine/store-fault.ts'
import { RedisStore, type RedisStoreOptions } from '../../src/stores/redis/redis-store.ts'
import { charge, TEN } from '../../src/stores/suite/subject.suite.ts'
import type { ClusterView } from '../servers/cluster.mjs'
import type { RedisEndpoint } from '../servers/redis.mjs'
import { slotOf } from '../servers/slots.mjs'
import { until } from '../servers/until.mjs'

export const PARTITIONS = Array.from({ length: 32 }, (_, partition) => partition)

/** A deadline that a busy machine keeps: for tests that are not about deadlines. */
export const PATIENT_MS = 5_000

export function urlOf({
  nodes,
}: {
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
}): string {
  return `redis+cluster://${nodes.map(({ host, port }) => `${host}:${port}`).join()}`
}

/** Formats a key of a partition, as KeySpeller does. */
export function keyOf(partition: number, name: string): string {
  return `sluice:{${partition}}:${name}`
}

/** Returns the partitions that a node is the master of. */
export async function partitionsOf<E extends RedisEndpoint>(cluster: ClusterView<E>, node: E): Promise<number[]> {
  const ranges = (await cluster.slots()).filter(({ master }) => master === node)
  return PARTITIONS.filter((partition) => {
    const slot = slotOf(`{${partition}}`)
    return ranges.some(({ from, to }) => from <= slot && slot <= to)
  })
}

/** A WatchedStore is a RedisStore, and what it has told. */
export interface WatchedStore {
  readonly store: RedisStore
  /** The servers that it is connected to. */
  readonly connected: Set<string>
  /** Those that serve no slots any more. */
  readonly retired: Set<string>
  /** The states of circuit breakers, in order: `127.0.0.1:7000 open`. */
  readonly breakers: string[]
}

/** Opens a store, which may not be connected yet. */
export function watchStore(url: string, options: Partial<RedisStoreOptions> = {}): WatchedStore {
  const connected = new Set<string>()
  const retired = new Set<string>()
  const breakers: string[] = []
  const store = new RedisStore({
    url,
    timeoutMs: PATIENT_MS,
    ...options,
    events: {
      connected: (shard) => connected.add(shard),
      disconnected: (shard) => connected.delete(shard),
      retired: (shard) => retired.add(shard),
      breakerChanged: (shard, state) => breakers.push(`${shard} ${state}`),
    },
  })
  return { store, connected, retired, breakers }
}

/** Opens a store and resolves when it is connected to this many servers. */
export async function connectStore(url: string, servers: number, options: Partial<RedisStoreOptions> = {}) {
  const watched = watchStore(url, options)
  await until(`${servers} servers are connected`, () => watched.connected.size >= servers)
  return watched
}

/** Says whether the store decides about a partition, without charging anything. */
export async function answers(store: RedisStore, partition: number): Promise<boolean> {
  await store.decide([charge(keyOf(partition, `look:${randomUUID()}`), TEN.gcra, 0)])
  return true
}

/** Returns why a decision failed; undefined when it did not. */
export function reasonOf(store: RedisStore, ...charges: Charge[]): Promise<string | undefined> {
  return store.decide(charges).then(
    () => undefined,
    (fault: StoreFault) => fault.reason,
  )
}

/** Looks at a counter's budget. */
export async function remaining(store: RedisStore, { key, limit }: Pick<Charge, 'key' | 'limit'>): Promise<number> {
  return (await store.decide([charge(key, limit, 0)]))[0].remaining
}
