import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { RedisStore } from '../redis/redis-store.ts'

const HOUR_MS = 3_600_000
const TIMEOUT_MS = 60_000

let redis: RedisStore
let call: (...args: string[]) => Promise<unknown>

beforeAll(async () => {
  const server = await sharedRedis()
  call = (...args) => server.call(...args)
  let isConnected = false
  const connected = (): void => {
    isConnected = true
  }
  redis = new RedisStore({ url: server.url, events: { connected } })
  await until('it is connected', () => isConnected)
})
afterAll(() => redis.close())

/** Counts hits in windows of an hour, of which so many leave the window as it is. */
const count = (key: string, hits: 0 | 1, most = 10, beyond = 'restart'): Promise<readonly number[]> =>
  redis.run('count', key, [HOUR_MS, most, beyond, hits], TIMEOUT_MS)

const leftMs = async (key: string): Promise<number> => Number(await call('PTTL', key))

describe('count.lua', () => {
  it('begins a window with the first hit, which ends with it', async () => {
    const key = randomUUID()
    expect(await count(key, 0)).toEqual([0, 0])
    expect(await count(key, 1)).toEqual([1, HOUR_MS])
    expect(await leftMs(key)).toBeGreaterThan(0)
    await call('PEXPIRE', key, String(HOUR_MS / 2))
    const [hits, endsInMs] = await count(key, 1)
    expect(hits).toBe(2)
    expect(endsInMs).toBeLessThanOrEqual(HOUR_MS / 2)
    expect(await leftMs(key)).toBeLessThanOrEqual(HOUR_MS / 2)
  })

  it('begins the window again with a hit too many', async () => {
    const key = randomUUID()
    await count(key, 1, 1)
    await call('PEXPIRE', key, String(HOUR_MS / 2))
    expect(await count(key, 1, 1)).toEqual([2, HOUR_MS])
    expect(await leftMs(key)).toBeGreaterThan(HOUR_MS / 2)
  })

  it('doubles the window with each further hit, up to the longest time that both sides can represent', async () => {
    const key = randomUUID()
    for (const times of [1, 2, 4]) expect((await count(key, 1, 0, 'double'))[1]).toBe(times * HOUR_MS)
    await call('SET', key, '100')
    expect(await count(key, 1, 0, 'double')).toEqual([101, Number.MAX_SAFE_INTEGER])
  })

  it.each([
    ['a text', ['SET', 'x']],
    ['less than nothing', ['SET', '-5']],
    ['of another type', ['RPUSH', '1']],
  ])('counts from the beginning where what is stored is %s', async (_, [command, value]) => {
    const key = randomUUID()
    await call(command, key, value)
    expect((await count(key, 0))[0]).toBe(0)
    expect(await count(key, 1)).toEqual([1, HOUR_MS])
  })

  it('gives a count without an end a window', async () => {
    const key = randomUUID()
    await call('SET', key, '3')
    expect(await count(key, 0)).toEqual([3, 0])
    expect(await count(key, 1)).toEqual([4, HOUR_MS])
  })
})
