import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { heldPermits } from '../../tests/servers/held-permits.ts'
import { type FaultProxy, startProxy } from '../../tests/servers/proxy.mjs'
import { startRedis } from '../../tests/servers/redis.mjs'
import { sharedRedis } from '../../tests/servers/shared.ts'
import { until } from '../../tests/servers/until.mjs'
import type { RuleFile } from '../core/rules/schema.ts'
import { type AdapterUnderTest, Routes, type StartedAdapter, type SuiteOptions } from './adapter-app.suite.ts'

/** States what every adapter does with counters in Redis. */
export function testAdapterOnRedis(adapter: AdapterUnderTest): void {
  let url: string
  const apps: StartedAdapter[] = []
  let proxy: FaultProxy | undefined

  /** Starts an app on Redis. Tests wait for what Redis says: they give it much more time than users would. */
  const start = async (options: SuiteOptions, routes = new Routes()): Promise<StartedAdapter> => {
    const timeout = options.rules === undefined && { timeoutMs: 60_000 }
    const app = await adapter.start([{ redis: url, ...timeout, ...options }], routes)
    apps.push(app)
    return app
  }
  /** Waits until the connection is there: before that, decisions follow the failure policy. */
  const ready = async (): Promise<void> => {
    const { get } = await start({ limit: 1, window: '1m', name: randomUUID(), onStoreFailure: 'open' })
    await until('decisions are made in Redis', async () => (await get()).status === 429)
  }

  const stop = async (app: StartedAdapter): Promise<void> => {
    if (apps.includes(app)) apps.splice(apps.indexOf(app), 1)
    await app.close()
    await Promise.all(app.limiters.map((limiter) => limiter.close()))
  }
  /** Puts a proxy before Redis, for the apps of one test. */
  const startProxied = async (): Promise<FaultProxy> => {
    proxy = await startProxy((await sharedRedis()).port)
    return proxy
  }
  /** Starts an app that answers 503 while Redis cannot be reached through a proxy, and 200 else. */
  const startProbe = async (redis: string): Promise<() => Promise<number>> => {
    const name = randomUUID()
    const { get } = await start({
      redis,
      limit: 1_000_000,
      window: '1d',
      name,
      onStoreFailure: 'closed',
      log: () => {},
    })
    return async () => (await get()).status
  }

  beforeAll(async () => {
    url = (await sharedRedis()).url
  })
  afterEach(async () => {
    await Promise.all(apps.splice(0).map(stop))
    await proxy?.stop()
    proxy = undefined
  })

  describe(`${adapter.name}, on Redis`, () => {
    it('counts its first requests there, which arrive before the connection', async () => {
      // Another prefix is another connection.
      const first = { limit: 2, window: '1d', keyPrefix: `${randomUUID()}:`, onStoreFailure: 'closed' } as const
      const app = await start({ ...first, name: 'first' })
      const answers = await Promise.all([app.get(), app.get(), app.get()])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429])
    })

    it('shares a limit between apps, by its name', async () => {
      await ready()
      const limit = { limit: 2, window: '1m', name: randomUUID() } as const
      const [one, two] = [await start(limit), await start(limit)]
      expect([(await one.get()).status, (await two.get()).status, (await one.get()).status]).toEqual([200, 200, 429])
      expect((await two.get()).headers.ratelimit).toMatch(/;r=0;t=\d+$/)
    })

    it('counts the same limit for itself wherever it is made, unless it has a name', async () => {
      const received: string[] = []
      const own = {
        redis: url,
        keyPrefix: `${randomUUID()}:`,
        log: (line: string) => void received.push(line),
      } as const
      const limit = { ...own, limit: 2, window: '1d', timeoutMs: 60_000, onStoreFailure: 'closed' } as const
      const probe = await start({ ...own, limit: 1_000, window: '1d', name: 'probe', onStoreFailure: 'closed' })
      await until('decisions are made in Redis', async () => (await probe.get()).status === 200)
      const apart = await adapter.start([limit, limit], new Routes())
      apps.push(apart)
      const statuses = async ({ get }: StartedAdapter): Promise<number[]> => [
        (await get()).status,
        (await get()).status,
        (await get()).status,
      ]
      expect(await statuses(apart)).toEqual([200, 200, 429])
      expect(received.filter((line) => line.includes('have no name'))).toHaveLength(1)
      const named = { ...limit, name: 'shared' } as const
      const together = await adapter.start([named, named], new Routes())
      apps.push(together)
      expect(await statuses(together)).toEqual([200, 429, 429])
    })

    it.skipIf(adapter.name.includes('fetch'))('charges there what a request has cost in the end', async () => {
      await ready()
      const { get } = await start({ limit: 8, window: '1d', algorithm: 'sliding_log', name: randomUUID() })
      await get('/settle')
      expect((await get()).headers['x-ratelimit-remaining']).toBe('2')
      expect([(await get('/settle')).status, (await get()).status]).toEqual([200, 429])
    })

    it('keeps places there', async () => {
      await ready()
      const routes = new Routes()
      const app = await start({ limit: 1, algorithm: 'concurrency', name: randomUUID() }, routes)
      const worked = app.visit('/work')
      await until('the place is taken', () => routes.working === 1)
      expect((await app.get()).status).toBe(429)
      await worked.leave()
      expect((await app.get()).status).toBe(429)
      routes.finish()
      await until('the place is free again', async () => (await app.get()).status === 200)
      await until('it was given back after each answer', async () => (await app.get()).status === 200)
    })

    it('keeps a place there for as long as its handler works, past its leaseTtl', async () => {
      await ready()
      const routes = new Routes()
      const name = randomUUID()
      const app = await start({ limit: 1, algorithm: 'concurrency', leaseTtl: '4s', name }, routes)
      const worked = app.visit('/work')
      const [first] = await until('the place is taken', async () => {
        const places = await heldPermits(`*${name}*`)
        return places.length === 1 && places
      })
      await until('it has outlived its time', async () => {
        const [now] = await heldPermits(`*${name}*`)
        return now?.id === first.id && now.sinceMs - first.sinceMs > 4_000
      })
      expect((await app.get()).status).toBe(429)
      routes.finish()
      await worked.leave()
      await until('it is given back', async () => (await heldPermits(`*${name}*`)).length === 0)
    })

    it('gives places back there when the client leaves in the middle of the answer', async () => {
      await ready()
      const routes = new Routes()
      const app = await start({ limit: 1, algorithm: 'concurrency', name: randomUUID() }, routes)
      const client = app.visit('/stream')
      await until('the place is taken', () => routes.streaming === 1)
      expect((await app.get()).status).toBe(429)
      await client.leave()
      await until('the place is free again', async () => (await app.get()).status === 200)
    })

    it('gives back there what failed requests took', async () => {
      await ready()
      const { get } = await start({ limit: 1, window: '1m', name: randomUUID(), refund: 'failure' })
      expect((await get('/error')).status).toBe(400)
      await until('the hit is given back', async () => (await get()).status === 200)
      expect((await get()).status).toBe(429)
    })

    it('forgets a caller there', async ({ skip }) => {
      skip(adapter.cannotReset !== undefined, adapter.cannotReset)
      await ready()
      const { get, limiters } = await start({ limit: 1, window: '1m', name: randomUUID() })
      expect([(await get()).status, (await get()).status]).toEqual([200, 429])
      await limiters[0].reset({ ip: '127.0.0.1' })
      expect((await get()).status).toBe(200)
    })

    it('forgets a caller there by the API key, of which it has only a hash', async ({ skip }) => {
      skip(adapter.cannotReset !== undefined, adapter.cannotReset)
      await ready()
      const key = `sk_live_${randomUUID()}`
      const limit = { limit: 1, window: '1d', name: randomUUID(), identity: { apiKey: true } } as const
      const { get, limiters } = await start(limit)
      const ask = async (): Promise<number> => (await get('/', { 'x-api-key': key })).status
      expect([await ask(), await ask()]).toEqual([200, 429])
      await limiters[0].reset({ apiKey: 'another' })
      expect(await ask()).toBe(429)
      await limiters[0].reset({ apiKey: key })
      expect([await ask(), await ask()]).toEqual([200, 429])
    })

    it.each<[string, () => SuiteOptions]>([
      ['a limit', () => ({ limit: 3, window: '1d', algorithm: 'sliding_log', name: randomUUID() })],
      ['rules', () => ({ rules: rulesOf(randomUUID()) })],
    ])('gives nothing back of what was admitted without Redis, with %s', async (_, optionsOf) => {
      const proxy = await startProxied()
      const probe = await startProbe(proxy.url)
      const routes = new Routes()
      const app = await start({ redis: proxy.url, refund: 'failure', log: () => {}, ...optionsOf() }, routes)
      const left = async (): Promise<string> => (await app.get()).headers['x-ratelimit-remaining']
      await until('decisions are made in Redis', async () => (await probe()) === 200)
      expect(await left()).toBe('2')
      await proxy.refuse()
      await proxy.cut()
      await until('the failure is noticed', async () => (await probe()) === 503)
      const client = app.visit('/hang')
      await until('the request is admitted', () => routes.hanging === 1)
      await proxy.heal()
      await until('decisions are made in Redis again', async () => (await probe()) === 200)
      await client.leave()
      expect(await left()).toBe('1')
    })

    it('shares its connections with others, and the last one to be closed closes them', async () => {
      const proxy = await startProxied()
      const limit = { redis: proxy.url, limit: 1, window: '1d', name: randomUUID(), onStoreFailure: 'closed' } as const
      const one = await start({ ...limit, log: () => {} })
      await until('decisions are made in Redis', async () => (await one.get()).status === 429)
      await until('it can ask and listen', () => proxy.connections === 2)
      const two = await start({ ...limit, log: () => {} })
      expect([(await two.get()).status, proxy.connections]).toEqual([429, 2])
      await stop(one)
      await Promise.all(one.limiters.map((limiter) => limiter.close()))
      expect([(await two.get()).status, proxy.connections]).toEqual([429, 2])
      await stop(two)
      await until('the connections are closed', () => proxy.connections === 0)
    })

    it('follows the failure policy of each limit when Redis is gone, and counts again when it has recovered', async () => {
      const server = await startRedis()
      try {
        const [open, closed, local] = await Promise.all(
          (['open', 'closed', 'local'] as const).map((onStoreFailure) =>
            start({
              redis: server.url,
              limit: 1,
              window: '1d',
              name: onStoreFailure,
              onStoreFailure,
              timeoutMs: 60_000,
              // Only `closed` and `open` are told: who is not asked for it hears nothing.
              headers: { fallback: onStoreFailure !== 'local' },
              log: () => {},
            }),
          ),
        )
        await until('decisions are made in Redis', async () => (await closed.get()).status === 429)
        await server.kill()
        await until('the failure is noticed', async () => (await closed.get()).status === 503)
        expect((await closed.get()).headers['retry-after']).toBe('1')
        const received = await Promise.all(
          [open, closed, local].map(async (app) => (await app.get()).headers['sluice-fallback']),
        )
        expect(received).toEqual(['open', 'closed', undefined])
        expect([(await open.get()).status, (await open.get()).status]).toEqual([200, 200])
        expect((await local.get()).status).toBe(429)
        await server.restart()
        await until('decisions are made in Redis again', async () => (await closed.get()).status !== 503)
      } finally {
        await server.stop()
      }
    })
  })
}

/** Makes rules of a domain of its own: three an hour for each address. */
function rulesOf(domain: string): RuleFile {
  const limit = { unit: 'hour', requests_per_unit: 3, algorithm: 'sliding_log', timeout_ms: 10_000 } as const
  return { domain, descriptors: [{ key: 'ip', rate_limit: limit }] }
}
