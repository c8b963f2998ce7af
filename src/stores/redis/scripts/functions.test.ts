import { afterEach, describe, expect, it } from 'vitest'
import { type RedisOptions, startRedis } from '../../../../tests/servers/redis.mjs'
import { compileLimit } from '../../../core/limit.ts'
import { RedisStore } from '../redis-store.ts'
import { loadScript } from './scripts.ts'

const LIMIT = compileLimit({ limit: 100, window: '1h' })
const NAME = String(loadScript('decide').asFunction?.name)

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Starts a Redis and a store that is connected to it. */
async function bench(options: RedisOptions = {}, user = '') {
  const redis = await startRedis(options)
  ends.push(() => redis.stop())
  let isConnected: () => void = () => {}
  const connected = new Promise<void>((resolve) => {
    isConnected = resolve
  })
  const url = `redis://${user}127.0.0.1:${redis.address.port}`
  const store = new RedisStore({ url, timeoutMs: 60_000, events: { connected: () => isConnected() } })
  ends.push(() => store.close())
  await connected
  const remaining = async (): Promise<number> => {
    const [verdict] = await store.decide([{ key: 'sluice:{1}:k', limit: LIMIT, cost: 1, enforce: true }])
    return verdict.remaining
  }
  /** How often the server was asked each, since it was last asked. */
  const asked = async (): Promise<Record<string, number>> => {
    const stats = String(await redis.call('INFO', 'commandstats'))
    await redis.call('CONFIG', 'RESETSTAT')
    const of = (name: string): number =>
      Number(new RegExp(`^cmdstat_${name.replace('|', '\\|')}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0) +
      Number(new RegExp(`^cmdstat_${name.replace('|', '\\|')}:.*rejected_calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
    return { fcall: of('fcall'), load: of('function|load'), evalsha: of('evalsha'), eval: of('eval') }
  }
  return { redis, remaining, asked }
}

describe('a decision', () => {
  it('is a function of the server, which is defined once', async () => {
    const { redis, remaining, asked } = await bench()
    expect(await remaining()).toBe(99)
    expect(await asked()).toEqual({ fcall: 2, load: 1, evalsha: 0, eval: 0 })
    expect(await remaining()).toBe(98)
    expect(await asked()).toEqual({ fcall: 1, load: 0, evalsha: 0, eval: 0 })
    expect(String(await redis.call('FUNCTION', 'LIST'))).toContain(NAME)
  })

  it('finds the function that another node has defined', async () => {
    const { redis, remaining, asked } = await bench()
    await redis.call('FUNCTION', 'LOAD', String(loadScript('decide').asFunction?.library))
    await asked()
    expect(await remaining()).toBe(99)
    expect(await asked()).toEqual({ fcall: 1, load: 0, evalsha: 0, eval: 0 })
  })

  it('defines the function again when all are forgotten', async () => {
    const { redis, remaining, asked } = await bench()
    await remaining()
    await redis.call('FUNCTION', 'FLUSH')
    await asked()
    expect([await remaining(), await remaining()]).toEqual([98, 97])
    expect(await asked()).toEqual({ fcall: 3, load: 1, evalsha: 0, eval: 0 })
  })

  it('of many simultaneous calls are counted once each while the function is not there', async () => {
    const { remaining } = await bench()
    const all = await Promise.all(Array.from({ length: 50 }, () => remaining()))
    expect([...all].sort((a, b) => b - a)).toEqual(Array.from({ length: 50 }, (_, i) => 99 - i))
  })

  it.each<[string, RedisOptions, string]>([
    ['does not know functions', { args: ['--rename-command', 'FCALL', ''] }, ''],
    ['does not let us run them', { acl: { app: 'on >secret ~* &* +@all -fcall' } }, 'app:secret@'],
    ['does not let us define them', { acl: { app: 'on >secret ~* &* +@all -function' } }, 'app:secret@'],
  ])('is a script where the server %s, and is not tried as a function again', async (_, options, user) => {
    const { remaining, asked } = await bench(options, user)
    expect([await remaining(), await remaining()]).toEqual([99, 98])
    await asked()
    expect(await remaining()).toBe(97)
    expect(await asked()).toEqual({ fcall: 0, load: 0, evalsha: 1, eval: 0 })
  })
})

it('a script that cannot be a function is none', () => {
  expect(loadScript('release').asFunction).toBeUndefined()
})
