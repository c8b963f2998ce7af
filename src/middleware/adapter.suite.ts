import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { until } from '../../tests/servers/until.mjs'
import { type AdapterUnderTest, type Client, runnerOf, type SuiteOptions } from './adapter-app.suite.ts'
import { testLeaving } from './adapter-leaving.suite.ts'

/** States what every adapter does. */
export function testAdapter(adapter: AdapterUnderTest): void {
  const app = runnerOf(adapter)
  const { start, stop } = app
  const statuses = async (get: Client['get'], ...paths: string[]): Promise<number[]> => {
    const found: number[] = []
    for (const path of paths) found.push((await get(path)).status)
    return found
  }

  describe(`${adapter.name}, as every adapter,`, () => {
    it('protects an app in one line, with the current and the legacy fields', async () => {
      const get = await start({ limit: 2, window: '1m' })
      const { status, headers, body } = await get()
      expect([status, body]).toEqual([200, 'Hi there!'])
      expect(headers['ratelimit-policy']).toBe('"2-in-1m";q=2;w=60')
      expect(headers.ratelimit).toMatch(/^"2-in-1m";r=1;t=\d+$/)
      expect([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual(['2', '1'])
      expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000 - 1)
      expect(headers['retry-after']).toBeUndefined()
    })

    it('refuses with 429, Retry-After, no caching, and the error as JSON, and the app sees nothing of it', async () => {
      const get = await start({ limit: 1, window: '1m' })
      await get()
      const { status, headers, body } = await get('/hang?secret=1')
      expect([status, app.routes.hanging]).toEqual([429, 0])
      expect(headers['cache-control']).toBe('no-store')
      expect(headers['content-type']).toBe(`application/json${adapter.jsonCharset ?? ''}`)
      expect(headers['content-length']).toBe(String(body.length))
      expect(headers.ratelimit).toMatch(/;r=0;t=\d+$/)
      const retryAfter = Number(headers['retry-after'])
      expect(retryAfter).toBeGreaterThan(0)
      expect(JSON.parse(body).error).toMatchObject({
        code: 'RATE_LIMITED',
        message: `Rate limit exceeded for GET /hang. Retry after ${retryAfter} second${retryAfter === 1 ? '' : 's'}.`,
        retry_after: retryAfter,
        scope: 'ip:127.0.0.1',
      })
    })

    it('speaks problem+json to callers who ask for it', async () => {
      const get = await start({ limit: 0, window: '1m', name: 'small "plan"' })
      const { headers, body } = await get('/', { accept: 'application/problem+json' })
      expect(headers['content-type']).toBe(`application/problem+json${adapter.jsonCharset ?? ''}`)
      expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['small %22plan%22'] })
    })

    it('sheds with 503, Retry-After and LOAD_SHED, reports nothing of a budget, and never sheds what is critical', async () => {
      const clock = { nowMs: () => 1_700_000_000_000 }
      const limits = { limit: 9, window: '1m', clock } as const
      const get = await start({ ...limits, shed: { capacity: 1, reserved: 0 } })
      expect((await get()).status).toBe(200)
      const { status, headers, body } = await get('/hang')
      expect([status, app.routes.hanging, headers['cache-control']]).toEqual([503, 0, 'no-store'])
      expect([headers.ratelimit, headers['x-ratelimit-limit']]).toEqual([undefined, undefined])
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(2)
      const { error } = JSON.parse(body)
      expect(error).toMatchObject({ code: 'LOAD_SHED', retry_after: Number(headers['retry-after']) })
      expect(Object.keys(error)).toEqual(['code', 'message', 'retry_after'])
      const problem = await get('/', { accept: 'application/problem+json' })
      expect(JSON.parse(problem.body)).toMatchObject({ status: 503, code: 'LOAD_SHED' })
      await stop()
      const critical = await start({ ...limits, shed: { capacity: 1, priority: 'critical' } })
      expect(await statuses(critical, '/', '/', '/')).toEqual([200, 200, 200])
    })

    it('believes the priority that a trusted caller says, and no one else', async () => {
      const limits = { limit: 9, window: '1m', clock: { nowMs: () => 1_700_000_000_000 } } as const
      const ofNetwork = async (network: string): Promise<number[]> => {
        const priorityHeader = { name: 'X-Priority', from: [network] }
        const get = await start({ ...limits, shed: { capacity: 1, reserved: 0 }, priorityHeader })
        const said = async (priority: string) => (await get('/', { 'x-priority': priority })).status
        const found = [await said('read'), await said('critical'), await said('read')]
        await stop()
        return found
      }
      expect(await ofNetwork('127.0.0.1/32')).toEqual([200, 200, 503])
      expect(await ofNetwork('10.0.0.0/8')).toEqual([200, 503, 503])
    })

    it('answers HEAD without a body, and says how long one would be', async () => {
      const get = await start({ limit: 0, window: '1m' })
      const { status, headers, body } = await get('/', {}, 'HEAD')
      expect([status, body]).toEqual([429, ''])
      expect(Number(headers['content-length'])).toBeGreaterThan(0)
    })

    it('sends what a limit has for refused callers, with the rate limit fields', async () => {
      const headers = [
        ['X-Plan', 'free'],
        ['retry-after', '0'],
      ] as const
      const get = await start({ limit: 1, window: '1m', response: { status: 420, body: 'calm', headers } })
      await get()
      const got = await get()
      expect([got.status, got.body, got.headers['x-plan']]).toEqual([420, 'calm', 'free'])
      expect(got.headers['content-type']).toBe('text/plain; charset=utf-8')
      expect(Number(got.headers['retry-after'])).toBeGreaterThan(0)
    })

    it('sends an object that a limit has for refused callers as JSON', async () => {
      const response = { body: { error: 'slow down' }, headers: { 'X-Plan': 'free' } }
      const get = await start({ limit: 0, window: '1m', response })
      const got = await get()
      expect([got.status, JSON.parse(got.body), got.headers['x-plan']]).toEqual([429, response.body, 'free'])
      expect(got.headers['content-type']).toMatch(/^application\/json/)
    })

    it('charges what a request has cost in the end, beyond the limit too', async () => {
      const get = await start({ limit: 8, window: '1h', algorithm: 'sliding_log' })
      await get('/settle')
      expect((await get()).headers['x-ratelimit-remaining']).toBe('2')
      expect(await statuses(get, '/settle', '/')).toEqual([200, 429])
    })

    it('shows the budget on answers that are failures, too', async () => {
      const get = await start({ limit: 3, window: '1m' })
      expect((await get('/error')).headers['x-ratelimit-remaining']).toBe('2')
    })

    it('lists the policies of several middlewares, the tightest first', async () => {
      const wide = { limit: 1_000, window: '1h', name: 'wide' } as const
      const narrow = { limit: 5, window: '1m', name: 'narrow' } as const
      for (const order of [
        [wide, narrow],
        [narrow, wide],
      ]) {
        const get = await start(...order)
        const { headers } = await get()
        expect(parseList(headers.ratelimit).map(([name]) => name)).toEqual(['narrow', 'wide'])
        expect(parseList(headers['ratelimit-policy']).map(([name]) => name)).toEqual(['narrow', 'wide'])
        expect(headers['x-ratelimit-limit']).toBe('5')
        await stop()
      }
    })

    it('counts the same limit for itself wherever it is made', async () => {
      const get = await start({ limit: 2, window: '1h' }, { limit: 2, window: '1h' })
      expect(await statuses(get, '/', '/', '/')).toEqual([200, 200, 429])
    })

    it('charges several limits together, or none of them', async () => {
      const get = await start({
        limits: [
          { limit: 5, window: '1h', name: 'hour', by: 'everyone' },
          { limit: 1, window: '1m', name: 'minute' },
        ],
      })
      expect(await statuses(get, '/', '/', '/')).toEqual([200, 429, 429])
      const { headers } = await get()
      const left = new Map(parseList(headers.ratelimit).map(([name, parameters]) => [name, parameters.get('r')]))
      expect([...left]).toEqual([
        ['minute', 0],
        ['hour', 4],
      ])
    })

    it('counts each of several limits for itself, also where they are about the same caller', async () => {
      const get = await start({
        limits: [
          { limit: 3, window: '1m', name: 'three' },
          { limit: 5, window: '1m', name: 'five' },
        ],
      })
      const left = async (): Promise<unknown> =>
        parseList((await get()).headers.ratelimit).map(([name, parameters]) => [name, parameters.get('r')])
      expect([await left(), await left()]).toEqual([
        [
          ['three', 2],
          ['five', 4],
        ],
        [
          ['three', 1],
          ['five', 3],
        ],
      ])
    })

    it('gives more to a better tier, and counts costs', async () => {
      const get = await start({
        limit: { free: 2, pro: 100 },
        window: '1m',
        identity: { apiKey: true, tier: (request) => adapter.header(request, 'x-tier') },
        cost: async (request) => Number(adapter.header(request, 'x-cost') ?? 1),
      })
      const pro = { 'x-api-key': 'p', 'x-tier': 'pro', 'x-cost': '60' }
      expect((await get('/', pro)).headers['x-ratelimit-remaining']).toBe('40')
      expect((await get('/', pro)).status).toBe(429)
      expect((await get('/', { 'x-api-key': 'f', 'x-tier': 'free', 'x-cost': '3' })).status).toBe(429)
      expect((await get('/', { 'x-api-key': 'f', 'x-cost': '2' })).headers['x-ratelimit-remaining']).toBe('0')
    })

    it('skips what it is configured to skip, without a word', async () => {
      const isHealth = (request: unknown): boolean => adapter.header(request, 'x-health') !== undefined
      for (const skip of [isHealth, async (request: unknown) => isHealth(request)]) {
        const get = await start({ limit: 0, window: '1m', skip })
        const { status, headers } = await get('/', { 'x-health': '1' })
        expect([status, headers.ratelimit]).toEqual([200, undefined])
        expect((await get()).status).toBe(429)
        await stop()
      }
    })

    it('decides by rules', async () => {
      const rules = 'domain: app\ndescriptors:\n  - key: path\n    rate_limit: { unit: hour, requests_per_unit: 1 }\n'
      const get = await start({ rules })
      expect(await statuses(get, '/', '/?again', '/error')).toEqual([200, 429, 400])
    })

    it('releases places when an answer was sent whole', async () => {
      const get = await start({ limit: 1, algorithm: 'concurrency' })
      expect(await statuses(get, '/', '/error', '/')).toEqual([200, 400, 200])
      const streamed = get('/stream')
      await until('the stream has begun', () => app.routes.streaming === 1)
      expect((await get()).status).toBe(429)
      app.routes.finish()
      expect((await streamed).body).toBe('Hi there!')
      expect((await get()).status).toBe(200)
    })

    it('releases places when the client leaves in the middle of the answer', async () => {
      const get = await start({ limit: 1, algorithm: 'concurrency' })
      const client = app.running.visit('/stream')
      await until('the place is taken', () => app.routes.streaming > 0)
      expect((await get()).status).toBe(429)
      await client.leave()
      await until('the place is free again', async () => (await get()).status === 200)
    })

    it('releases places when the app fails', async () => {
      const get = await start({ limit: 1, algorithm: 'concurrency' })
      expect(await statuses(get, '/throw', '/throw', '/')).toEqual([500, 500, 200])
    })

    it('gives back what failed requests took', async () => {
      const get = await start({ limit: 1, window: '1m', refund: 'failure' })
      expect(await statuses(get, '/error', '/throw', '/error')).toEqual([400, 500, 400])
      expect(await statuses(get, '/', '/')).toEqual([200, 429])
    })

    it('gives back what successful requests took, or what a function says', async () => {
      const get = await start({ limit: 1, window: '1m', refund: 'success' })
      expect(await statuses(get, '/', '/', '/error', '/')).toEqual([200, 200, 400, 429])
      await stop()
      const seen: (number | undefined)[] = []
      const other = await start({ limit: 1, window: '1m', refund: (status) => seen.push(status) > 1 })
      expect(await statuses(other, '/error', '/')).toEqual([400, 429])
      expect(seen).toEqual([400])
      await stop()
      const leaving = await start({ limit: 1, window: '1m', refund: (status) => seen.push(status) > 1 })
      const client = app.running.visit('/hang')
      await until('the hit is taken', () => app.routes.hanging === 1)
      await client.leave()
      expect(seen).toEqual([400, undefined])
      expect(await statuses(leaving, '/')).toEqual([200])
    })

    it('never lets its own errors reach the app', async () => {
      const received: unknown[] = []
      const cost = (): Promise<never> => Promise.reject(new Error('broken'))
      const get = await start({ window: '1m', cost, limit: 1, onError: (error) => void received.push(error) })
      expect(await statuses(get, '/', '/')).toEqual([200, 429])
      expect(received).toEqual([new Error('broken'), new Error('broken')])
      await stop()
      const nowMs = (): never => {
        throw new Error('broken')
      }
      const broken = { limit: 1, clock: { nowMs }, onError: (error: unknown) => void received.push(error) }
      const open = await start({ ...broken, window: '1m' })
      expect(await statuses(open, '/', '/')).toEqual([200, 200])
      expect(received).toHaveLength(4)
      await stop()
      const closed = await start({ ...broken, window: '1m', onStoreFailure: 'closed', onError: () => {} })
      expect(await closed()).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    })

    it('notifies an observer of every decision', async () => {
      const received: [rule: string, cost: number, allowed: boolean][] = []
      const observer: SuiteOptions['observer'] = {
        decided: (charges, { allowed }) => {
          for (const { rule, cost } of charges) received.push([rule.name, cost, allowed])
        },
      }
      const get = await start({ limit: 1, window: '1m', observer })
      await get()
      await get()
      expect(received).toEqual([
        ['1-in-1m', 1, true],
        ['1-in-1m', 1, false],
      ])
    })

    it('calls a function with every decision, in plain fields', async () => {
      const received: unknown[] = []
      const get = await start({
        limit: 1,
        window: '1m',
        onDecision: ({ rule, cost, allowed, remaining, limit, fallback }) => {
          received.push([rule, cost, allowed, remaining, limit, fallback])
        },
      })
      await get()
      await get()
      expect(received).toEqual([
        ['1-in-1m', 1, true, 0, 1, undefined],
        ['1-in-1m', 1, false, 0, 1, undefined],
      ])
    })

    it('forgets a caller', async ({ skip }) => {
      skip(adapter.cannotReset !== undefined, adapter.cannotReset)
      const get = await start({ limit: 1, window: '1m' })
      expect(await statuses(get, '/', '/')).toEqual([200, 429])
      await app.running.limiters[0].reset({ ip: '127.0.0.1' })
      expect(await statuses(get, '/')).toEqual([200])
    })

    it('believes X-Forwarded-For only as far as proxies are trusted, from right to left', async () => {
      const get = await start({ limit: 1, window: '1m', identity: { trustedProxies: ['loopback'] } })
      const from = async (chain: string): Promise<number> => (await get('/', { 'x-forwarded-for': chain })).status
      expect(await from('203.0.113.7')).toBe(200)
      expect([await from('198.51.100.1, 203.0.113.7'), await from('198.51.100.2, 203.0.113.7')]).toEqual([429, 429])
      expect(await from('203.0.113.8')).toBe(200)
      await stop()
      const wary = await start({ limit: 1, window: '1m' })
      expect((await wary('/', { 'x-forwarded-for': '203.0.113.1' })).status).toBe(200)
      expect((await wary('/', { 'x-forwarded-for': '203.0.113.2' })).status).toBe(429)
    })
  })
  testLeaving(adapter)
}
