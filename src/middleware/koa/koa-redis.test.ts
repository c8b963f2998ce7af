import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { type PlainOptions, rateLimit } from './index.ts'
import { headerOf, koaApp, serveKoa } from './koa-app.suite.ts'

testAdapterOnRedis({
  name: 'sluice/koa',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as PlainOptions))
    return { ...(await serveKoa(koaApp(limiters, routes))), limiters }
  },
  header: headerOf,
})

describe('sluice/koa with the options of koa-ratelimit, on Redis', () => {
  it('counts in the database of a client, under a namespace', async () => {
    const { url } = await sharedRedis()
    const db = new Redis(url, { autoResendUnfulfilledCommands: false })
    const namespace = randomUUID()
    try {
      await db.ping()
      const options = { driver: 'redis', db, max: 2, namespace } as const
      const [one, two] = await Promise.all([1, 2].map(() => serveKoa(koaApp([rateLimit(options)]))))
      const elsewhere = await serveKoa(koaApp([rateLimit({ ...options, namespace: randomUUID() })]))
      expect([(await one.get()).status, (await two.get()).status, (await one.get()).status]).toEqual([200, 200, 429])
      expect((await elsewhere.get()).status).toBe(200)
      expect(await db.keys(`*${namespace}*`)).toHaveLength(1)
      await Promise.all([one.close(), two.close(), elsewhere.close()])
    } finally {
      db.disconnect()
    }
  })
})
