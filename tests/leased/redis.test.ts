import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileLimit, type Limit } from '../../src/core/limit.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { LeasedStore } from '../../src/stores/leased/leased-store.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { urlOf } from '../cluster/partitions.suite.ts'
import { startProxy } from '../servers/proxy.mjs'
import { type RedisServer, startRedis } from '../servers/redis.mjs'
import { sharedCluster } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** Its window begins with the first hit, so that it does not end while a test runs. */
const HOUR = compileLimit({ limit: 3, window: '1d', algorithm: 'fixed_window', anchor: 'first_hit' })
const keyOf = (): string => `sluice:{1}:${randomBytes(6).toString('hex')}`

function charge(key: string, limit: Limit, consistency: 'exact' | 'leased' | 'eventual', cost = 1): Charge {
  const policy = { consistency, onStoreFailure: 'open', localShare: 1, timeoutMs: 60_000, syncIntervalMs: 50 } as const
  return { key, limit, cost, enforce: true, policy }
}

/** Makes a node that is connected to so many servers and hears notices. */
async function open(url: string, servers = 1): Promise<LeasedStore> {
  const connected = new Set<string>()
  const events = { connected: (shard: string) => connected.add(shard) }
  const shared = new RedisStore({ url, timeoutMs: 60_000, events })
  const store = new LeasedStore(shared)
  let isListening = false
  const stop = shared.listen({
    noticed() {},
    connected: (is) => {
      isListening ||= is
    },
  })
  await until('the node is connected and hears notices', () => connected.size === servers && isListening)
  stop()
  return store
}

const ask = async (store: LeasedStore, one: Charge) => (await store.decide([one]))[0]

async function refuse(store: LeasedStore, one: Charge): Promise<void> {
  await until('the key is refused', async () => !(await ask(store, one)).allowed)
}

/** How many scripts the server has run. */
async function scriptCalls(server: RedisServer): Promise<number> {
  const stats = String(await server.call('INFO', 'commandstats'))
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

describe.each(['exact', 'leased', 'eventual'] as const)('a key that is refused (%s)', (consistency) => {
  it('costs no call to Redis at all', async () => {
    const node = await open(redis.url)
    const one = charge(keyOf(), HOUR, consistency)
    await refuse(node, one)
    // What was spent is still to be told.
    await node.drain()
    await refuse(node, one)
    const before = await scriptCalls(redis)
    for (let i = 0; i < 10_000; i++) expect(node.decide([one])).toMatchObject([{ allowed: false }])
    expect(await scriptCalls(redis)).toBe(before)
    await node.close()
  })

  it('is admitted on every node when one of them resets it', async () => {
    const [one, other] = [await open(redis.url), await open(redis.url)]
    const charged = charge(keyOf(), HOUR, consistency)
    await refuse(one, charged)
    await refuse(other, charged)
    await one.drain()
    await other.drain()
    await refuse(other, charged)
    await one.reset(charged.key, HOUR)
    await until('the other node admits it', async () => (await ask(other, charged)).allowed)
    await Promise.all([one.close(), other.close()])
  })
})

it('a key that is refused from memory stays so after a DEL in Redis, until it is reset', async () => {
  const node = await open(redis.url)
  const one = charge(keyOf(), HOUR, 'exact')
  await refuse(node, one)
  expect(await redis.call('DEL', `${one.key}|${HOUR.shape}`)).toBe(1)
  expect(node.decide([one])).toMatchObject([{ allowed: false }])
  await node.reset(one.key, HOUR)
  expect(await ask(node, one)).toMatchObject({ allowed: true, remaining: 2 })
  await node.close()
})

describe('a leased rule on Redis', () => {
  it('continues from its slice while the server is unavailable, and no further than that', async () => {
    const proxy = await startProxy(redis.port)
    const node = await open(`redis://127.0.0.1:${proxy.port}`)
    const limit = compileLimit({ limit: 1_000_000, window: '1d' })
    const one = charge(keyOf(), limit, 'leased')
    for (let i = 0; i < 500; i++) await node.decide([one])
    expect(node.stats.held).toBeGreaterThan(10)
    await proxy.refuse()
    await proxy.cut()
    for (let i = 0; i < 10; i++) expect(node.decide([one])).toMatchObject([{ allowed: true }])
    await expect(async () => {
      for (let i = 0; i < limit.max; i++) await node.decide([one])
    }).rejects.toMatchObject({ name: 'StoreFault' })
    await node.close()
    await proxy.stop()
  })

  it('is lent by a cluster, each counter by the server that has it', async () => {
    const cluster = await sharedCluster()
    const nodes = [await open(urlOf(cluster), 3), await open(urlOf(cluster), 3)]
    const limit = compileLimit({ limit: 40, window: '1d' })
    const prefix = randomBytes(6).toString('hex')
    const admitted = new Map<string, number>()
    for (let i = 0; i < 1_000; i++) {
      const key = `sluice:{${i % 10}}:${prefix}`
      const { allowed } = await ask(nodes[(i * i) % 2]!, charge(key, limit, 'leased'))
      if (allowed) admitted.set(key, (admitted.get(key) ?? 0) + 1)
    }
    for (const count of admitted.values()) expect(count).toBeLessThanOrEqual(40)
    expect([...admitted.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(300)
    await Promise.all(nodes.map((node) => node.close()))
  })
})
