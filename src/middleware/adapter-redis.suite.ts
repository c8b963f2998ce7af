import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startRedis } from '../../tests/servers/redis.mjs'
import { sharedRedis } from '../../tests/servers/shared.ts'
import { until } from '../../tests/servers/until.mjs'
import { type AdapterUnderTest, PATIENT, Routes, type StartedAdapter, type SuiteOptions } from './adapter-app.suite.ts'

/** testAdapterOnRedis states what every adapter does with counters in Redis. */
export function testAdapterOnRedis(adapter: AdapterUnderTest): void {
  let url: string
  const apps: StartedAdapter[] = []

  /** start starts an app on Redis. Tests wait for what Redis says: they give it much more time than users would. */
  const start = async (options: SuiteOptions, routes = new Routes()): Promise<StartedAdapter> => {
    const app = await adapter.start([{ redis: url, timeoutMs: 10_000, ...options }], routes)
    apps.push(app)
    return app
  }
  /** ready waits until the connection is there: before that, decisions follow the failure policy. */
  const ready = async (): Promise<void> => {
    const { get } = await start({ limit: 1, window: '1m', name: randomUUID() })
    await until('decisions are made in Redis', async () => (await get()).status === 429)
  }

  beforeAll(async () => {
    url = (await sharedRedis()).url
  })
  afterEach(async () => {
    const started = apps.splice(0)
    await Promise.all(started.map((app) => app.close()))
    await Promise.all(started.flatMap(({ limiters }) => limiters.map((limiter) => limiter.close())))
  })

  describe(`${adapter.name}, on Redis`, PATIENT, () => {
    it('shares a limit between apps, by its name', async () => {
      await ready()
      const limit = { limit: 2, window: '1m', name: randomUUID() } as const
      const [one, two] = [await start(limit), await start(limit)]
      expect([(await one.get()).status, (await two.get()).status, (await one.get()).status]).toEqual([200, 200, 429])
      expect((await two.get()).headers.ratelimit).toMatch(/;r=0;t=\d+$/)
    })

    it('keeps places there', async () => {
      await ready()
      const routes = new Routes()
      const app = await start({ limit: 1, algorithm: 'concurrency', name: randomUUID() }, routes)
      for (const path of ['/hang', '/stream']) {
        const client = app.visit(path)
        await until('the place is taken', () => routes.hanging + routes.streaming > 0)
        expect((await app.get()).status).toBe(429)
        await client.leave()
        await until('the place is free again', async () => (await app.get()).status === 200)
        routes.hanging = 0
      }
      await until('it was given back after each answer', async () => (await app.get()).status === 200)
    })

    it('gives back there what failed requests took', async () => {
      await ready()
      const { get } = await start({ limit: 1, window: '1m', name: randomUUID(), refund: 'failure' })
      expect((await get('/error')).status).toBe(400)
      await until('the hit is given back', async () => (await get()).status === 200)
      expect((await get()).status).toBe(429)
    })

    it('forgets a caller there', async () => {
      await ready()
      const { get, limiters } = await start({ limit: 1, window: '1m', name: randomUUID() })
      expect([(await get()).status, (await get()).status]).toEqual([200, 429])
      await limiters[0].reset({ ip: '127.0.0.1' })
      expect((await get()).status).toBe(200)
    })

    it('follows the failure policy of each limit when Redis is gone, and goes on when it is back', async () => {
      const server = await startRedis()
      try {
        const [open, closed, local] = await Promise.all(
          (['open', 'closed', 'local'] as const).map((onStoreFailure) =>
            start({
              redis: server.url,
              limit: 1,
              window: '1h',
              name: onStoreFailure,
              onStoreFailure,
              timeoutMs: 100,
              log: () => {},
            }),
          ),
        )
        await until('decisions are made in Redis', async () => (await closed.get()).status === 429)
        await server.kill()
        await until('the failure is noticed', async () => (await closed.get()).status === 503)
        expect((await closed.get()).headers['retry-after']).toBe('1')
        expect([(await open.get()).status, (await open.get()).status]).toEqual([200, 200])
        expect([(await local.get()).status, (await local.get()).status]).toEqual([200, 429])
        await server.restart()
        await until('decisions are made in Redis again', async () => (await closed.get()).status !== 503)
      } finally {
        await server.stop()
      }
    })
  })
}
