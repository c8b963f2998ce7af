import type { Middleware } from 'koa'
import { afterEach, describe, expect, it } from 'vitest'
import { testAdapter } from '../adapter.suite.ts'
import type { Client } from '../adapter-app.suite.ts'
import { type Budget, type PlainOptions, rateLimit } from './index.ts'
import { headerOf, koaApp, serveKoa } from './koa-app.suite.ts'

testAdapter({
  name: 'sluice/koa',
  start: async (options, routes) => {
    const limiters = options.map((each) => rateLimit(each as PlainOptions))
    return { ...(await serveKoa(koaApp(limiters, routes))), limiters }
  },
  header: headerOf,
})

let running: Client | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

const serve = async (...middlewares: Middleware[]): Promise<Client['get']> => {
  running = await serveKoa(koaApp(middlewares))
  return running.get
}

describe('sluice/koa', () => {
  it('shows the state what remains', async () => {
    const seen: unknown[] = []
    const get = await serve(rateLimit({ limit: 3, window: '1m' }), (ctx, next) => {
      const { limit, used, remaining, resetTime } = ctx.state.rateLimit as Budget
      seen.push({ limit, used, remaining, resetTime })
      return next()
    })
    await get()
    expect(seen).toEqual([{ limit: 3, used: 1, remaining: 2, resetTime: expect.any(Date) }])
  })

  it('shows its refusals to the middlewares outside of it', async () => {
    const seen: unknown[] = []
    const get = await serve(
      async (ctx, next) => {
        await next()
        seen.push([ctx.status, ctx.type])
      },
      rateLimit({ limit: 0, window: '1m' }),
    )
    await get()
    expect(seen).toEqual([[429, 'application/json']])
  })

  it('leaves the answer to a handler, and its errors to the app', async () => {
    const handlers: PlainOptions['handler'][] = [
      (ctx, _next, { refusal }) => {
        ctx.status = refusal.status
        ctx.body = 'mine'
      },
      () => Promise.reject(new Error('mine')),
    ]
    const found: unknown[] = []
    for (const handler of handlers) {
      const get = await serve(rateLimit({ limit: 0, window: '1m', handler } as PlainOptions))
      const { status, body } = await get()
      found.push([status, body])
      await running?.close()
    }
    running = undefined
    expect(found).toEqual([
      [429, 'mine'],
      [500, 'Internal Server Error'],
    ])
  })

  it('takes the address that the app sees, but never one that the client wrote', async () => {
    const from = async (get: Client['get'], chain: string): Promise<number> =>
      (await get('/', { 'x-forwarded-for': chain })).status
    for (const settings of [{ proxy: true }, { proxy: true, maxIpsCount: 1 }]) {
      const app = koaApp([rateLimit({ limit: 1, window: '1m' })])
      running = await serveKoa(Object.assign(app, settings))
      const { get } = running
      expect(await from(get, '198.51.100.1, 203.0.113.7')).toBe(200)
      expect(await from(get, '198.51.100.2, 203.0.113.7')).toBe(429)
      expect(await from(get, '203.0.113.8')).toBe(200)
      expect([(await get()).status, (await get()).status]).toEqual([200, 429])
      await running.close()
    }
    running = undefined
  })

  it('refuses options of koa-ratelimit', () => {
    expect(() => rateLimit({ window: '1m', limit: 1, max: 2 } as PlainOptions)).toThrow(
      'OPTION_UNKNOWN: max: unknown option, write limit: 100',
    )
  })
})
