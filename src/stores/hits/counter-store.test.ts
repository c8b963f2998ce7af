import { randomUUID } from 'node:crypto'
import { createClient } from '@redis/client'
import peerLimit from 'express-rate-limit'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { type RunningApp, runApp } from '../../middleware/express/express-app.suite.ts'
import { CounterStore, type CounterStoreOptions } from './counter-store.ts'

let url: string
const stores: CounterStore[] = []
let running: RunningApp | undefined

const storeOf = (options: CounterStoreOptions, windowMs = 60_000): CounterStore => {
  const store = new CounterStore({ prefix: `${randomUUID()}:`, timeoutMs: 60_000, ...options })
  store.init({ windowMs })
  stores.push(store)
  return store
}
/** Waits until Redis answers: until then, a store counts in its process. */
const connected = async (store: CounterStore): Promise<CounterStore> => {
  const probe = new CounterStore({ redis: url, onStoreFailure: 'throw', prefix: 'probe:', timeoutMs: 60_000 })
  await until('Redis is connected', async () => (await probe.add('probe', 0)).totalHits === 0)
  await probe.shutdown()
  return store
}

beforeAll(async () => {
  url = (await sharedRedis()).url
})
afterEach(async () => {
  await running?.close()
  running = undefined
  await Promise.all(stores.splice(0).map((store) => store.shutdown()))
})

describe.each(['memory', 'Redis'])('CounterStore in %s', (where) => {
  const open = async (options: CounterStoreOptions = {}): Promise<CounterStore> =>
    where === 'memory' ? storeOf(options) : connected(storeOf({ redis: url, ...options }))

  it('counts hits, takes them back, and forgets a key', async () => {
    const store = await open()
    expect(await store.get('a')).toBeUndefined()
    const beforeMs = Date.now()
    expect((await store.increment('a')).totalHits).toBe(1)
    const { totalHits, resetTime } = await store.increment('a')
    expect(totalHits).toBe(2)
    // The clock of Redis is another one: its milliseconds begin elsewhere.
    expect(resetTime?.getTime()).toBeGreaterThan(beforeMs + 60_000 - 5)
    expect(resetTime?.getTime()).toBeLessThan(Date.now() + 60_000 + 5)
    await store.decrement('a')
    expect(await store.get('a')).toMatchObject({ totalHits: 1 })
    await store.resetKey('a')
    expect(await store.get('a')).toBeUndefined()
    expect((await store.increment('b')).totalHits).toBe(1)
  })

  it('counts on beyond any limit', async () => {
    const store = await open()
    expect((await store.add('a', 1_000_000)).totalHits).toBe(1_000_000)
    expect((await store.increment('a')).totalHits).toBe(1_000_001)
  })

  it('fades hits out with a sliding window', async () => {
    const store = await open({ algorithm: 'sliding_window' })
    expect((await store.increment('a')).totalHits).toBe(1)
    expect((await store.increment('a')).totalHits).toBe(2)
  })

  it('serves express-rate-limit itself', async () => {
    const store = await open()
    running = await runApp(peerLimit({ limit: 3, store, standardHeaders: 'draft-8', validate: true }))
    const { get } = running
    const seen: number[] = []
    for (let i = 0; i < 4; i++) seen.push((await get()).status)
    expect(seen).toEqual([200, 200, 200, 429])
    expect(Number((await get()).headers['retry-after'])).toBeGreaterThan(0)
  })

  it('serves express-rate-limit with skipFailedRequests', async () => {
    const store = await open()
    running = await runApp(peerLimit({ limit: 1, store, skipFailedRequests: true }))
    const { get } = running
    expect((await get('/error')).status).toBe(400)
    await until('the hit is taken back', async () => (await store.get('127.0.0.1')) === undefined)
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
  })
})

describe('CounterStore', () => {
  it('begins a window with the first hit', async () => {
    let nowMs = 1_700_000_012_345
    const store = storeOf({ clock: { nowMs: () => nowMs } }, 1_000)
    await store.increment('a')
    nowMs += 999
    expect((await store.increment('a')).totalHits).toBe(2)
    nowMs += 1
    expect((await store.increment('a')).totalHits).toBe(1)
  })

  it('shares counters with others on the same Redis, by prefix', async () => {
    const prefix = `${randomUUID()}:`
    const one = await connected(storeOf({ redis: url, prefix }))
    const two = await connected(storeOf({ redis: url, prefix }))
    const three = await connected(storeOf({ redis: url }))
    await one.increment('a')
    expect((await two.increment('a')).totalHits).toBe(2)
    expect((await three.increment('a')).totalHits).toBe(1)
    expect([one.localKeys, storeOf({}).localKeys]).toEqual([false, true])
  })

  it('forgets everybody in memory, and cannot in Redis', async () => {
    const store = storeOf({})
    await store.increment('a')
    store.resetAll()
    expect(await store.get('a')).toBeUndefined()
    expect(() => storeOf({ redis: url }).resetAll()).toThrow('RESET_ALL_NOT_APPLICABLE')
  })

  it.each([0, -1, Number.NaN, 0.5, 1e300])('takes a window of %s for the nearest that there is', async (windowMs) => {
    const store = storeOf({}, windowMs)
    expect((await store.increment('a')).totalHits).toBe(1)
  })

  it('uses a client of redis, and one of ioredis, and leaves them open', async () => {
    const client = await createClient({ url, RESP: 2 }).connect()
    const other = new Redis(url)
    await until('ioredis is ready', () => other.status === 'ready')
    const prefix = `${randomUUID()}:`
    for (const redis of [client, other]) {
      const store = storeOf({ redis: redis as never, prefix, onStoreFailure: 'throw' })
      await store.increment('a')
      await store.shutdown()
    }
    const last = storeOf({ redis: client as never, prefix, onStoreFailure: 'throw' })
    expect(await last.get('a')).toMatchObject({ totalHits: 2 })
    expect([client.isReady, other.status]).toEqual([true, 'ready'])
    client.destroy()
    other.disconnect()
    expect(() => storeOf({ redis: {} as never })).toThrow('REDIS_CLIENT_INVALID')
  })
})

describe('CounterStore while Redis is unavailable', () => {
  const GONE = 'redis://127.0.0.1:1'
  const away = (onStoreFailure?: CounterStoreOptions['onStoreFailure']): CounterStore =>
    storeOf({ redis: GONE, log: () => {}, ...(onStoreFailure && { onStoreFailure }) })

  it('counts in its process', async () => {
    const store = away()
    await store.increment('a')
    expect((await store.increment('a')).totalHits).toBe(2)
  })

  it('takes every hit for the first, or for one too many, or throws, as configured', async () => {
    expect((await away('open').increment('a')).totalHits).toBe(1)
    expect((await away('closed').increment('a')).totalHits).toBe(4_294_967_295)
    await expect(away('throw').increment('a')).rejects.toThrow('STORE_UNAVAILABLE')
  })
})
