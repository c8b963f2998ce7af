import { randomUUID } from 'node:crypto'
import { createClient } from '@redis/client'
import fastify, { type FastifyInstance } from 'fastify'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import { startRedis } from '../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import nativeLimit from '../../middleware/fastify/index.ts'
import rateLimit, { type RateLimitPluginOptions } from './index.ts'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function serve(options: RateLimitPluginOptions): Promise<FastifyInstance> {
  const app = fastify()
  closing.push(() => app.close())
  await app.register(rateLimit, options)
  app.get('/', async () => 'hello')
  return app
}

const ioredis = (url: string): Redis => {
  const client = new Redis(url)
  closing.push(() => client.disconnect())
  return client
}

const nodeRedis = async (url: string) => {
  const client = createClient({ url })
  await client.connect()
  closing.push(() => client.destroy())
  return client
}

/** Waits until apps on this address, which share a connection, have it: until then they do not wait for it. */
async function connected(url: string): Promise<string> {
  const app = fastify()
  closing.push(() => app.close())
  await app.register(nativeLimit, {
    limit: 1,
    window: '1d',
    name: randomUUID(),
    redis: url,
    timeoutMs: 60_000,
    onStoreFailure: 'open',
  })
  app.get('/', async () => 'hello')
  await until('Redis counts', async () => (await app.inject('/')).statusCode === 429)
  return url
}

const statuses = async (count: number, ...apps: FastifyInstance[]): Promise<number[]> => {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await apps[i % apps.length].inject('/')).statusCode)
  return seen
}

describe('sluice/compat/fastify-rate-limit on Redis', () => {
  it.each([
    ['ioredis, not yet connected', ioredis],
    ['redis', nodeRedis],
    ['an address', connected],
  ] as const)('counts through %s', async (_, connect) => {
    const { url } = await sharedRedis()
    // An app on an address counts by itself when Redis takes more than 50 ms.
    await until('they count in Redis', async () => {
      const options = { max: 2, ban: 1, timeWindow: 86_400_000, nameSpace: randomUUID() }
      const one = await serve({ ...options, redis: await connect(url) })
      const two = await serve({ ...options, redis: await connect(url) })
      expect(await statuses(5, one, two)).toEqual([200, 200, 429, 403, 403])
      return true
    })
  })

  it.each([
    ['continueExceeding', ['60', '60', '60']],
    ['exponentialBackoff', ['60', '120', '240']],
  ] as const)('makes the window longer with %s', async (option, waits) => {
    const redis = ioredis((await sharedRedis()).url)
    const app = await serve({ max: 1, timeWindow: 60_000, redis, nameSpace: randomUUID(), [option]: true })
    await statuses(1, app)
    const seen: unknown[] = []
    for (let i = 0; i < 3; i++) seen.push((await app.inject('/')).headers['retry-after'])
    expect(seen).toEqual(waits)
  })

  it.each([{}, { continueExceeding: true }])('looks without counting, %o', async (more) => {
    const redis = ioredis((await sharedRedis()).url)
    const app = await serve({ global: false, max: 2, redis, nameSpace: randomUUID(), ...more })
    const check = app.createRateLimit()
    app.get('/look', (request) => check(request, { increment: false }))
    app.get('/count', (request) => check(request))
    const left = async (url: string): Promise<number> => (await app.inject(url)).json().remaining
    expect([await left('/look'), await left('/count'), await left('/look')]).toEqual([2, 1, 1])
  })

  it('fails as the client does, or passes with skipOnError', async () => {
    const { url } = await sharedRedis()
    const [one, two] = [ioredis(url), ioredis(url)]
    const failing = await serve({ max: 2, redis: one, nameSpace: randomUUID() })
    const skipping = await serve({ max: 2, redis: two, nameSpace: randomUUID(), skipOnError: true })
    expect(await statuses(2, failing, skipping)).toEqual([200, 200])
    await Promise.all([one.quit(), two.quit()])
    expect((await failing.inject('/')).json()).toMatchObject({ statusCode: 500, message: 'Connection is closed.' })
    expect((await skipping.inject('/')).headers['x-ratelimit-remaining']).toBe('2')
  })

  it.each([{}, { exponentialBackoff: true }])('counts locally while an address does not answer, %o', async (more) => {
    const server = await startRedis()
    closing.push(() => server.stop())
    const app = await serve({ max: 1, timeWindow: 60_000, redis: server.url, nameSpace: randomUUID(), ...more })
    await until('it counts', async () => (await app.inject('/')).statusCode === 429)
    await server.kill()
    await until('it counts without Redis', async () => (await app.inject('/')).statusCode === 429)
    expect(await statuses(2, app)).toEqual([429, 429])
  })
})
