import type { Context, Middleware } from 'koa'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Client } from '../../middleware/adapter-app.suite.ts'
import { koaApp, serveKoa } from '../../middleware/koa/koa-app.suite.ts'
import { type MiddlewareOptions, rateLimit } from './index.ts'

let running: Client | undefined

afterEach(async () => {
  vi.useRealTimers()
  await running?.close()
  running = undefined
})

const serve = async (options: MiddlewareOptions, ...outside: Middleware[]): Promise<Client['get']> => {
  running = await serveKoa(koaApp([...outside, rateLimit(options)]))
  return running.get
}

describe('sluice/koa with the options of koa-ratelimit', () => {
  it('counts max hits in a duration, from the first one on', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const get = await serve({ max: 2, duration: 10_000 })
    const first = await get()
    expect([first.status, first.headers['x-ratelimit-limit'], first.headers['x-ratelimit-remaining']]).toEqual([
      200,
      '2',
      '1',
    ])
    expect(first.headers['x-ratelimit-reset']).toBe('1700000010')
    expect(first.headers.ratelimit).toBe('"2-in-10s";r=1;t=10')
    vi.setSystemTime(1_700_000_004_000)
    expect((await get()).status).toBe(200)
    const refused = await get()
    expect([refused.status, refused.body]).toEqual([429, 'Rate limit exceeded, retry in 6 seconds.'])
    expect([refused.headers['retry-after'], refused.headers['cache-control']]).toEqual(['6', 'no-store'])
    vi.setSystemTime(1_700_000_009_999)
    expect((await get()).headers['retry-after']).toBe('1')
    vi.setSystemTime(1_700_000_010_000)
    expect((await get()).status).toBe(200)
  })

  it('counts 2,500 an hour by default', async () => {
    const { headers } = await (await serve({}))()
    expect([headers['x-ratelimit-limit'], headers['ratelimit-policy']]).toEqual(['2500', '"2500-in-1h";q=2500;w=3600'])
  })

  it('keeps the counters in a Map of the app’s, which it may share and clear', async () => {
    const db = new Map()
    const one = await serve({ driver: 'memory', db, max: 1 })
    const first = running
    const two = await serve({ driver: 'memory', db, max: 1 })
    expect([(await one()).status, (await two()).status]).toEqual([200, 429])
    db.clear()
    expect([(await two()).status, (await one()).status]).toEqual([200, 429])
    await first?.close()
  })

  it('counts by an id, by the address where there is none, and not at all where it is false', async () => {
    const ids = new Map<string, string | false>([['nobody', false]])
    const get = await serve({ max: 1, id: ({ headers: { who } }) => ids.get(String(who)) ?? (who as string) })
    const by = async (who?: string): Promise<number> => (await get('/', who === undefined ? {} : { who })).status
    expect([await by('a'), await by('b'), await by('a')]).toEqual([200, 200, 429])
    expect([await by(), await by()]).toEqual([200, 429])
    expect([await by('nobody'), await by('nobody')]).toEqual([200, 200])
    expect((await get('/', { who: 'nobody' })).headers['x-ratelimit-limit']).toBeUndefined()
  })

  it.each([undefined, ''])('counts each address for itself where the id is %j', async (id) => {
    const app = koaApp([rateLimit({ max: 1, id: () => id as string })])
    running = await serveKoa(Object.assign(app, { proxy: true, maxIpsCount: 1 }))
    const { get } = running
    const from = async (client: string): Promise<number> => (await get('/', { 'x-forwarded-for': client })).status
    expect([await from('203.0.113.7'), await from('203.0.113.8'), await from('203.0.113.7')]).toEqual([200, 200, 429])
  })

  it('lets the whitelisted through, and forbids the blacklisted', async () => {
    const is = (who: string) => async (ctx: Context) => ctx.get('who') === who
    const get = await serve({ max: 0, whitelist: is('friend'), blacklist: is('foe') })
    const by = async (who: string): Promise<number> => (await get('/', { who })).status
    expect([await by('friend'), await by('foe'), await by('stranger')]).toEqual([200, 403, 429])
  })

  it('names the fields as configured, or sends none', async () => {
    const headers = { remaining: 'Left', reset: 'Again', total: 'All' }
    const named = await (await serve({ max: 5, headers }))()
    expect([named.headers.left, named.headers.all]).toEqual(['4', '5'])
    expect([named.headers['x-ratelimit-limit'], named.headers.ratelimit]).toEqual([undefined, undefined])
    await running?.close()
    const silent = await (await serve({ max: 0, disableHeader: true }))()
    expect(silent.status).toBe(429)
    expect(Object.keys(silent.headers).filter((name) => name.includes('limit'))).toEqual([])
    expect(Number(silent.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('answers with a message and a status of the app, and reports it', async () => {
    const received: unknown[] = []
    const get = await serve({
      max: 0,
      status: 503,
      errorMessage: { wait: true },
      onLimited: (ctx) => void received.push(ctx.state.rateLimit),
    })
    expect(await get()).toMatchObject({ status: 503, body: '{"wait":true}' })
    expect(received).toEqual([
      {
        after: 3600,
        headers: expect.objectContaining({ 'X-RateLimit-Limit': '0' }),
        id: '127.0.0.1',
        message: { wait: true },
      },
    ])
  })

  it('throws refusals where another middleware answers', async () => {
    const thrown: unknown[] = []
    const get = await serve({ max: 0, throw: true }, async (_ctx, next) => {
      try {
        await next()
      } catch (error) {
        thrown.push(error)
        throw error
      }
    })
    const { status, headers } = await get()
    expect([status, headers['x-ratelimit-limit'], headers['retry-after']]).toEqual([429, '0', '3600'])
    expect(thrown).toMatchObject([{ status: 429, headers: { 'Retry-After': '3600' } }])
  })

  it.each([
    [{ driver: 'file' }, 'GATE_OPTIONS_INVALID: driver: got "file", expected memory or redis'],
    [{ driver: 'redis' }, 'GATE_OPTIONS_INVALID: db: got undefined, expected a client for the driver redis'],
    [
      { driver: 'memory', redis: 'redis://x' },
      'GATE_OPTIONS_INVALID: db: got "redis://x", expected a Map for the driver memory',
    ],
    [{ db: {} }, 'REDIS_CLIENT_INVALID: redis: got an object'],
  ])('refuses %o', (options, message) => {
    expect(() => rateLimit(options as MiddlewareOptions)).toThrow(message)
  })
})
