import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import type { Charge, Store } from '../../src/engine/ports.ts'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { type StoreUnderTest, storeSuite } from '../../src/stores/store.suite.ts'
import { NEW_SEEDS } from '../seeds/seeds.ts'
import { sharedCluster } from '../servers/shared.ts'
import { connectStore, keyOf, PARTITIONS, urlOf } from './partitions.suite.ts'

let redis: RedisStore
let nowMs = 0
let tests = 0

beforeAll(async () => {
  ;({ store: redis } = await connectStore(urlOf(await sharedCluster()), 3, { scriptNowMs: () => nowMs }))
})
afterAll(() => redis.close())

/** A PartitionOf says which partition a key of a test belongs to. */
type PartitionOf = (key: string) => number

/** The one store, for keys that nobody has used yet. */
async function emptyStore(partitionOf: PartitionOf, startMs: number): Promise<StoreUnderTest> {
  const run = randomUUID()
  const encode = (key: string): string => keyOf(partitionOf(key), `${run}|${key}`)
  const encoded = (charges: readonly Charge[]): Charge[] =>
    charges.map((charge) => ({ ...charge, key: encode(charge.key) }))
  const store: Store = {
    decide: (charges) => redis.decide(encoded(charges)),
    acquire: (charges) => redis.acquire(encoded(charges)),
    release: (lease) => redis.release(lease),
    renew: (permits) => redis.renew(permits),
    reset: (key, limit) => redis.reset(encode(key), limit),
    close: () => {},
  }
  nowMs = startMs
  const setNowMs = (now: number): void => {
    nowMs = now
  }
  return { store, setNowMs, close: async () => {} }
}

/** Spreads the keys of a test over partitions, so that any two short names are likely apart. */
const sumOf: PartitionOf = (key) =>
  [...key].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % PARTITIONS.length

storeSuite(
  'a cluster, with all keys of a caller in one partition',
  async ({ startMs }) => {
    const partition = tests++ % PARTITIONS.length
    return emptyStore(() => partition, startMs)
  },
  { operations: 1_000, seeds: [1, ...NEW_SEEDS] },
)

storeSuite('a cluster, with keys in different partitions', async ({ startMs }) => emptyStore(sumOf, startMs), {
  operations: 2_000,
  seeds: [1, 4_030_457_749, ...NEW_SEEDS],
  run: {
    how: 'in all but when a budget is whole again that was charged for a moment',
    isSteady: true,
    // What a part was refunded stays refunded when another part refuses.
    isChargingOnly: true,
    agrees: (said, expected, isGroupRefused) =>
      isGroupRefused && said.allowed && said.remaining === expected.remaining && said.limit === expected.limit,
  },
})
