import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { testAdapter } from '../adapter.suite.ts'
import type { Client, Got, SuiteOptions } from '../adapter-app.suite.ts'
import { headerOf, honoApp, onNode, onWeb } from './hono-app.suite.ts'
import { type Budget, type PlainOptions, rateLimit } from './index.ts'

const limitersOf = (options: readonly SuiteOptions[]) => options.map((each) => rateLimit(each as PlainOptions))

testAdapter({
  name: 'sluice/hono on Node.js',
  start: async (options, routes) => {
    const limiters = limitersOf(options)
    return { ...(await onNode(honoApp(limiters, routes))), limiters }
  },
  header: headerOf,
})

testAdapter({
  name: 'sluice/hono on the Web',
  start: async (options, routes) => {
    const limiters = limitersOf(options)
    return { ...onWeb(honoApp(limiters, routes)), limiters }
  },
  header: headerOf,
})

let running: Client | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

describe('sluice/hono', () => {
  it('keeps the fields on answers of every making', async () => {
    const { get } = onWeb(honoApp([rateLimit({ limit: 9, window: '1m' })]))
    const fields = ({ headers }: Got): unknown[] => [headers['x-ratelimit-limit'], headers.location]
    expect(fields(await get('/elsewhere'))).toEqual(['9', 'http://localhost/'])
    expect(fields(await get('/stream', {}, 'HEAD'))).toEqual(['9', undefined])
    expect(fields(await get('/throw'))).toEqual(['9', undefined])
    expect(fields(await get('/nowhere'))).toEqual(['9', undefined])
  })

  it('gives back once what a request took whose client leaves after the answer', async () => {
    const app = honoApp([rateLimit({ limit: 2, window: '1m', refund: 'failure' })])
    const controller = new AbortController()
    const failed = await app.request('/error', { signal: controller.signal })
    const { get } = onWeb(app, {})
    expect([failed.status, (await get()).status]).toEqual([400, 200])
    await failed.text()
    controller.abort()
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
  })

  it('releases a place when a handler throws what is no error, which Hono leaves to the runtime', async () => {
    const app = new Hono()
    app.use(rateLimit({ limit: 1, algorithm: 'concurrency' }))
    app.get('/', () => Promise.reject('thrown'))
    for (let i = 0; i < 2; i++) await expect(Promise.resolve(app.request('/'))).rejects.toBe('thrown')
  })

  it('shows the context what remains', async () => {
    const seen: unknown[] = []
    const look = async (c: Context, next: () => Promise<void>): Promise<void> => {
      const { limit, used, remaining, resetTime } = c.get('rateLimit') as Budget
      seen.push({ limit, used, remaining, resetTime })
      await next()
    }
    await onWeb(honoApp([rateLimit({ limit: 3, window: '1m' }), look])).get()
    expect(seen).toEqual([{ limit: 3, used: 1, remaining: 2, resetTime: expect.any(Date) }])
  })

  it('leaves the answer to a handler, which may change the fields', async () => {
    const limiter = rateLimit({
      limit: 0,
      window: '1m',
      handler: (c, _next, { refusal }) => c.text('mine', refusal.status as 429),
    })
    const got = await onWeb(honoApp([limiter])).get()
    expect(got).toMatchObject({ status: 429, body: 'mine' })
    expect(got.headers['x-ratelimit-limit']).toBe('0')
  })

  it('lets a handler send the request on', async () => {
    const limiter = rateLimit({ limit: 0, window: '1m', handler: (_c, next) => next() })
    const got = await onWeb(honoApp([limiter])).get()
    expect(got).toMatchObject({ status: 200, body: 'Hi there!' })
    expect(got.headers['x-ratelimit-remaining']).toBe('0')
  })

  it('takes the address from Hono’s helper', async () => {
    running = await onNode(honoApp([rateLimit({ limit: 1, window: '1m', getConnInfo })]))
    expect([(await running.get()).status, (await running.get()).status]).toEqual([200, 429])
    const of = (address: string) => ({ remote: { address } })
    const byHeader = rateLimit({ limit: 1, window: '1m', getConnInfo: (c) => of(c.req.header('x-runtime') ?? '') })
    const { get } = onWeb(honoApp([byHeader]), {})
    const from = async (address: string): Promise<number> => (await get('/', { 'x-runtime': address })).status
    expect([await from('2001:db8::1'), await from('2001:db8::2'), await from('2001:db8:0:1::')]).toEqual([
      200, 429, 200,
    ])
  })

  it.each([
    ['Deno', { remoteAddr: { hostname: '203.0.113.7' } }],
    ['Bun', { requestIP: () => ({ address: '203.0.113.7' }) }],
    ['Bun, in an object', { server: { requestIP: () => ({ address: '203.0.113.7' }) } }],
    ['Node.js', { incoming: { socket: { remoteAddress: '::ffff:203.0.113.7' } } }],
  ])('knows the address on %s', async (_runtime, env) => {
    const { get } = onWeb(honoApp([rateLimit({ limit: 0, window: '1m' })]), env)
    expect(JSON.parse((await get()).body).error.scope).toBe('ip:203.0.113.7')
  })

  it('has one budget for all with an unknown address', async () => {
    const { get } = onWeb(honoApp([rateLimit({ limit: 1, window: '1m' })]), {})
    const from = async (chain: string): Promise<number> => (await get('/', { 'x-forwarded-for': chain })).status
    expect([await from('203.0.113.1'), await from('203.0.113.2')]).toEqual([200, 429])
  })

  it('refuses options of hono-rate-limiter', () => {
    expect(() => rateLimit({ window: '1m', limit: 1, windowMs: 1_000 } as PlainOptions)).toThrow(
      "OPTION_UNKNOWN: windowMs: unknown option, write window: '60s'",
    )
  })
})
