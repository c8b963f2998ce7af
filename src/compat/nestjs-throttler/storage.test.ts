import { randomUUID } from 'node:crypto'
import type { ThrottlerStorage } from '@nestjs/throttler'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import { startRedis } from '../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { SluiceStorage } from './index.ts'

type Increment = [key: string, ttl: number, limit: number, blockDuration: number]
const record = (totalHits: number, timeToExpire: number, isBlocked: boolean, timeToBlockExpire: number) => ({
  totalHits,
  timeToExpire,
  isBlocked,
  timeToBlockExpire,
})

describe('SluiceStorage in memory', () => {
  let storage: SluiceStorage
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 })
    storage = new SluiceStorage()
  })
  afterEach(() => void vi.useRealTimers())

  const hit = (...[key, ttl, limit, block]: Increment) => storage.increment(key, ttl, limit, block, 'default')
  const wait = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

  it('is a storage for @nestjs/throttler', () => {
    expectTypeOf(storage).toExtend<ThrottlerStorage>()
  })

  it('blocks a caller that has too many, for as long as a block lasts', async () => {
    expect(await hit('a', 10_000, 2, 3_000)).toEqual(record(1, 10, false, 0))
    wait(1_500)
    expect(await hit('a', 10_000, 2, 3_000)).toEqual(record(2, 9, false, 0))
    expect(await hit('a', 10_000, 2, 3_000)).toEqual(record(3, 9, true, 3))
    wait(2_000)
    expect(await hit('a', 10_000, 2, 3_000)).toEqual(record(3, 7, true, 1))
    wait(1_000)
    // The block is over: everything begins anew.
    expect(await hit('a', 10_000, 2, 3_000)).toEqual(record(1, 6, false, 0))
  })

  it('refuses without blocks until the oldest hit is forgotten, and does not count what it refuses', async () => {
    await hit('a', 10_000, 2, 0)
    wait(4_000)
    await hit('a', 10_000, 2, 0)
    expect(await hit('a', 10_000, 2, 0)).toEqual(record(3, 6, true, 6))
    wait(6_000)
    expect(await hit('a', 10_000, 2, 0)).toEqual(record(2, 10, false, 0))
    expect(await hit('a', 10_000, 2, 0)).toEqual(record(3, 10, true, 4))
  })

  it('refuses everything for a limit of 0', async () => {
    expect(await hit('a', 1_000, 0, 0)).toEqual(record(1, 1, true, 1))
    expect(await hit('b', 1_000, 0, 5_000)).toEqual(record(1, 1, true, 5))
  })

  it('counts keys and throttlers apart', async () => {
    await hit('a', 1_000, 1, 1_000)
    expect((await hit('b', 1_000, 1, 1_000)).isBlocked).toBe(false)
    expect((await storage.increment('a', 1_000, 1, 1_000, 'other')).isBlocked).toBe(false)
    expect((await hit('a', 1_000, 1, 1_000)).isBlocked).toBe(true)
  })

  it('takes limits that are too high to remember each hit', async () => {
    expect(await hit('a', 60_000, 1_000_000, 60_000)).toEqual(record(1, 60, false, 0))
    expect(await hit('a', 60_000, 1_000_000, 60_000)).toEqual(record(2, 60, false, 0))
  })
})

describe('SluiceStorage on Redis', () => {
  it('shares counters between apps', async () => {
    const { url } = await sharedRedis()
    const options = { redis: url, prefix: randomUUID(), timeoutMs: 60_000, onStoreFailure: 'throw' } as const
    const [one, two] = [new SluiceStorage(options), new SluiceStorage(options)]
    await until('it is connected', () =>
      one.increment('first', 60_000, 1, 0, 'default').then(
        () => true,
        () => false,
      ),
    )
    // Of the window a second may be over at the last one, or more, on a busy machine.
    const hits = await until('all is counted within a second', async () => {
      const key = randomUUID()
      const seen = []
      for (const storage of [one, two, one]) seen.push(await storage.increment(key, 60_000, 2, 30_000, 'default'))
      return seen[2].timeToExpire === 60 && seen
    })
    expect(hits).toEqual([record(1, 60, false, 0), record(2, 60, false, 0), record(3, 60, true, 30)])
    await Promise.all([one.onApplicationShutdown(), two.onApplicationShutdown()])
  })

  it('answers as configured while Redis is unavailable', async () => {
    const server = await startRedis()
    await server.stop()
    const ask = async (onStoreFailure: 'open' | 'closed' | 'local' | 'throw') => {
      const storage = new SluiceStorage({ redis: server.url, onStoreFailure, log: () => {} })
      const hits = [
        await storage.increment('a', 60_000, 1, 0, 'default').catch(() => 'failed' as const),
        await storage.increment('a', 60_000, 1, 0, 'default').catch(() => 'failed' as const),
      ]
      await storage.onApplicationShutdown()
      return hits.map((hit) => (hit === 'failed' ? hit : hit.isBlocked))
    }
    expect(await ask('local')).toEqual([false, true])
    expect(await ask('open')).toEqual([false, false])
    expect(await ask('closed')).toEqual([true, true])
    expect(await ask('throw')).toEqual(['failed', 'failed'])
  })
})
