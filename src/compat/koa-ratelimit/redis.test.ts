import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { koaApp, serveKoa } from '../../middleware/koa/koa-app.suite.ts'
import { rateLimit } from './index.ts'

describe('sluice/compat/koa-ratelimit on Redis', () => {
  it('counts in the database of a client, under a namespace', async () => {
    const { url } = await sharedRedis()
    const db = new Redis(url, { autoResendUnfulfilledCommands: false })
    try {
      await db.ping()
      // An app counts by itself when Redis takes more than 50 ms: each attempt has a namespace of its own.
      const counted = await until('three requests are counted in Redis', async () => {
        const namespace = randomUUID()
        const options = { driver: 'redis', db, max: 2, namespace } as const
        const [one, two] = await Promise.all([1, 2].map(() => serveKoa(koaApp([rateLimit(options)]))))
        const elsewhere = await serveKoa(koaApp([rateLimit({ ...options, namespace: randomUUID() })]))
        const statuses: number[] = []
        for (const app of [one, two, one, elsewhere]) statuses.push((await app.get()).status)
        await Promise.all([one.close(), two.close(), elsewhere.close()])
        const isByItself = statuses[2] === 200
        return !isByItself && { statuses, keys: await db.keys(`*${namespace}*`) }
      })
      expect(counted.statuses).toEqual([200, 200, 429, 200])
      expect(counted.keys).toHaveLength(1)
    } finally {
      db.disconnect()
    }
  })
})
