import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startRedis } from '../../../tests/servers/redis.mjs'
import { honoApp, onWeb } from '../../middleware/hono/hono-app.suite.ts'
import {
  type RedisClient,
  RedisStore,
  rateLimiter,
  type Store,
  type UnstorageInstance,
  UnstorageStore,
} from './index.ts'

let server: Awaited<ReturnType<typeof startRedis>>
let redis: Redis

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

/** Speaks to a real server in the manner of clients over HTTP. */
const clientOf = (connection: Redis): RedisClient => ({
  scriptLoad: (script) => connection.script('LOAD', script) as Promise<string>,
  evalsha: (sha, keys, args) => connection.evalsha(sha, keys.length, ...keys, ...(args as string[])) as Promise<never>,
  del: (key) => connection.del(key),
})

/** Answers a turn later, as storages do. */
const slowStorage = (): UnstorageInstance & { entries: Map<string, string> } => {
  const entries = new Map<string, string>()
  return {
    entries,
    get: async (key) => entries.get(key) ?? null,
    set: async (key, value) => void entries.set(key, value),
    remove: async (key) => void entries.delete(key),
  }
}

const stores: readonly (readonly [name: string, make: () => Store])[] = [
  ['RedisStore', () => new RedisStore({ client: clientOf(redis), prefix: `${randomUUID()}:` })],
  ['UnstorageStore', () => new UnstorageStore({ storage: slowStorage() })],
]

describe.each(stores)('%s', (_name, make) => {
  const made = (windowMs = 60_000): Store => {
    const store = make()
    store.init?.({ windowMs } as Parameters<NonNullable<Store['init']>>[0])
    return store
  }

  it('counts hits, takes them back, and forgets a key', async () => {
    const store = made()
    expect(await store.get?.('a')).toBeUndefined()
    expect((await store.increment('a')).totalHits).toBe(1)
    expect((await store.increment('a')).totalHits).toBe(2)
    expect((await store.increment('b')).totalHits).toBe(1)
    await store.decrement('a')
    expect(await store.get?.('a')).toMatchObject({ totalHits: 1, resetTime: expect.any(Date) })
    await store.resetKey('a')
    expect((await store.increment('a')).totalHits).toBe(1)
  })

  it('loses no hit of many at the same time', async () => {
    const store = made()
    const counts = await Promise.all(Array.from({ length: 50 }, () => store.increment('a')))
    expect(counts.map(({ totalHits }) => totalHits).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, i) => i + 1),
    )
  })

  it('never counts below zero', async () => {
    const store = made()
    await store.decrement('a')
    await store.increment('a')
    await store.decrement('a')
    await store.decrement('a')
    expect((await store.increment('a')).totalHits).toBe(1)
  })

  it('ends a window a while after its first hit', async () => {
    const store = made(60_000)
    const before = Date.now()
    const { resetTime } = await store.increment('a')
    expect(resetTime?.getTime()).toBeGreaterThanOrEqual(before + 59_000)
    expect(resetTime?.getTime()).toBeLessThanOrEqual(Date.now() + 60_000)
    expect(Math.abs(Number((await store.increment('a')).resetTime) - Number(resetTime))).toBeLessThan(1_000)
  })

  it('limits an app', async () => {
    const { get } = onWeb(honoApp([rateLimiter({ limit: 2, store: make(), keyGenerator: () => 'k' })]))
    expect([(await get()).status, (await get()).status, (await get()).status]).toEqual([200, 200, 429])
  })
})

describe('RedisStore', () => {
  it('counts under the keys of hono-rate-limiter, which expire', async () => {
    const store = new RedisStore({ client: clientOf(redis) })
    store.init({ windowMs: 5_000 })
    await store.increment('key')
    expect(await redis.get('hrl:key')).toBe('1')
    expect(await redis.pttl('hrl:key')).toBeGreaterThan(0)
  })

  it('restarts the window with every hit, if configured', async () => {
    const store = new RedisStore({ client: clientOf(redis), resetExpiryOnChange: true, prefix: `${randomUUID()}:` })
    store.init({ windowMs: 60_000 })
    await store.increment('key')
    await redis.pexpire(`${store.prefix}key`, 1_000)
    await store.increment('key')
    expect(await redis.pttl(`${store.prefix}key`)).toBeGreaterThan(1_000)
  })

  it('teaches a server the script again, and asks again for nothing else', async () => {
    const client = clientOf(redis)
    const store = new RedisStore({ client, prefix: `${randomUUID()}:` })
    await redis.script('FLUSH')
    expect((await store.increment('key')).totalHits).toBe(1)
    const evalsha = vi.spyOn(client, 'evalsha').mockRejectedValue(new Error('timed out'))
    await expect(store.increment('key')).rejects.toThrow('timed out')
    expect(evalsha).toHaveBeenCalledTimes(1)
    evalsha.mockResolvedValue('what?' as never)
    await expect(store.increment('key')).rejects.toThrow('STORE_UNAVAILABLE: store: Redis answered "what?"')
  })
})

describe('UnstorageStore', () => {
  it('continues after a failure of the storage', async () => {
    const storage = slowStorage()
    const store = new UnstorageStore({ storage })
    vi.spyOn(storage, 'get').mockRejectedValueOnce(new Error('away'))
    const [first, second] = await Promise.allSettled([store.increment('k'), store.increment('k')])
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
    expect([...storage.entries.keys()]).toEqual(['hrl:k'])
  })
})
