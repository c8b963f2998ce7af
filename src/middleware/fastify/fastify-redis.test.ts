import { randomUUID } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { startProxy } from '../../../tests/servers/proxy.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { fastifyAdapter } from './fastify-adapter.suite.ts'
import rateLimit, { type PlainOptions } from './index.ts'

testAdapterOnRedis(fastifyAdapter)

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function serve(options: PlainOptions): Promise<FastifyInstance> {
  const app = fastify()
  closing.push(() => app.close())
  await app.register(rateLimit, options)
  app.get('/', async () => 'hello')
  return app
}

/** Waits until apps on this address, which share a connection, have it: until then they do not wait for it. */
async function connected(url: string): Promise<string> {
  const app = await serve({
    limit: 1,
    window: '1d',
    name: randomUUID(),
    redis: url,
    timeoutMs: 60_000,
    onStoreFailure: 'open',
  })
  await until('Redis counts', async () => (await app.inject('/')).statusCode === 429)
  return url
}

const statuses = async (count: number, ...apps: FastifyInstance[]): Promise<number[]> => {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await apps[i % apps.length].inject('/')).statusCode)
  return seen
}

describe('sluice/fastify on Redis', () => {
  it('shares a plain limit between apps, by its name', async () => {
    const url = await connected((await sharedRedis()).url)
    const options = { limit: 3, window: '1d', name: randomUUID(), redis: url, timeoutMs: 60_000 } as const
    const [one, two] = [await serve(options), await serve(options)]
    expect(await statuses(4, one, two)).toEqual([200, 200, 200, 429])
  })

  it('counts the limits of routes and hooks there, and lets go of it with the app', async () => {
    await using proxy = await startProxy((await sharedRedis()).port)
    const limit = { limit: 1, window: '1d', onStoreFailure: 'closed', timeoutMs: 60_000 } as const
    const names = [randomUUID(), randomUUID(), randomUUID()]
    const run = async (): Promise<FastifyInstance> => {
      const app = fastify()
      await app.register(rateLimit, { ...limit, limit: 1_000, name: names[0], redis: proxy.url, log: () => {} })
      app.get('/', async () => 'hello')
      app.get('/own', { config: { rateLimit: { ...limit, name: names[1] } } }, async () => 'own')
      app.get('/hooked', { preHandler: app.rateLimit({ ...limit, name: names[2] }) }, async () => 'hooked')
      return app
    }
    const apps = [await run(), await run()]
    await until('decisions are made in Redis', async () => (await apps[0].inject('/')).statusCode === 200)
    for (const url of ['/own', '/hooked']) {
      const found: number[] = []
      for (const app of apps) found.push((await app.inject(url)).statusCode)
      expect(found).toEqual([200, 429])
    }
    await Promise.all(apps.map((app) => app.close()))
    await until('the connections are closed', () => proxy.connections === 0)
  })
})
