import { randomUUID } from 'node:crypto'
import type { Response } from 'express'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startRedis } from '../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { expressAdapter } from './express-adapter.suite.ts'
import { type RunningApp, runApp } from './express-app.suite.ts'
import { type PlainOptions, rateLimit } from './index.ts'

testAdapterOnRedis(expressAdapter)

let url: string
const apps: RunningApp[] = []
const limiters: { close(): Promise<void> }[] = []

beforeAll(async () => {
  url = (await sharedRedis()).url
})
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()))
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

/** Starts an app on Redis, and waits until it counts there. */
const serve = async (options: PlainOptions): Promise<RunningApp['get']> => {
  const limiter = rateLimit({ redis: url, timeoutMs: 60_000, ...options } as PlainOptions)
  limiters.push(limiter)
  const app = await runApp(limiter)
  apps.push(app)
  return app.get
}
/** Waits until the connection is there: before that, decisions follow the failure policy. */
const ready = async (): Promise<void> => {
  const name = randomUUID()
  const probe = await serve({ limit: 1, window: '1m', name, onStoreFailure: 'open' })
  await until('decisions are made in Redis', async () => (await probe()).status === 429)
}

describe('sluice/express on Redis', () => {
  it('shares a limit between apps, by its name', async () => {
    await ready()
    const name = randomUUID()
    const [one, two] = [await serve({ limit: 2, window: '1m', name }), await serve({ limit: 2, window: '1m', name })]
    expect([(await one()).status, (await two()).status, (await one()).status]).toEqual([200, 200, 429])
    expect((await two()).headers.ratelimit).toMatch(/;r=0;t=\d+$/)
  })

  it('writes no API key into Redis, only a hash of it', async () => {
    await ready()
    const name = randomUUID()
    const key = `sk_live_${randomUUID()}`
    const get = await serve({ limit: 9, window: '1m', name, identity: { apiKey: true } })
    expect((await get('/', { 'x-api-key': key })).status).toBe(200)
    const [, found] = (await (await sharedRedis()).call('SCAN', '0', 'MATCH', `*${name}*`, 'COUNT', '1000000')) as [
      string,
      string[],
    ]
    expect(found).toEqual([expect.stringMatching(/^sluice:\{\d+\}:http\|[^|]+\|api_key=sk_l~[0-9a-f]{16}\|x1m$/)])
  })

  it('keeps places and refunds there', async () => {
    await ready()
    const name = randomUUID()
    const get = await serve({ limit: 1, algorithm: 'concurrency', name })
    const responses: Response[] = []
    apps.at(-1)?.app.get('/late', (_, response) => void responses.push(response))
    const client = apps.at(-1)?.visit('/late')
    await until('the place is taken', () => responses.length === 1)
    expect((await get()).status).toBe(429)
    client?.leave()
    await until('the client has left', () => responses[0].closed)
    expect((await get()).status).toBe(429)
    responses[0].send('late')
    await until('the place is free again', async () => (await get()).status === 200)
    const refunding = await serve({ limit: 1, window: '1m', name, refund: 'failure' })
    await refunding('/error')
    await until('the hit is given back', async () => (await refunding()).status === 200)
  })

  it('follows the failure policy of each limit when Redis is gone, and counts again when it has recovered', async () => {
    const server = await startRedis()
    const lines: string[] = []
    const log = (line: string): void => void lines.push(line)
    try {
      const redis = server.url
      const [open, closed, local] = await Promise.all(
        (['open', 'closed', 'local'] as const).map((onStoreFailure) =>
          serve({ redis, log, limit: 1, window: '1d', name: onStoreFailure, onStoreFailure, timeoutMs: 60_000 }),
        ),
      )
      await until('decisions are made in Redis', async () => (await closed()).status === 429)
      await server.kill()
      await until('the failure is noticed', async () => (await closed()).status === 503)
      expect((await closed()).headers['retry-after']).toBe('1')
      expect([(await open()).status, (await open()).status]).toEqual([200, 200])
      expect([(await local()).status, (await local()).status]).toEqual([200, 429])
      expect(lines).toEqual([expect.stringMatching(/^no connection to redis: .*; limits follow onStoreFailure/)])
      await server.restart()
      await until('decisions are made in Redis again', async () => (await closed()).status !== 503)
    } finally {
      await server.stop()
    }
  })
})
