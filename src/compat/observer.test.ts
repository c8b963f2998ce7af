import { Reflector } from '@nestjs/core'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { WSContext } from 'hono/ws'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Observer } from '../engine/observer.ts'
import { runApp } from '../middleware/express/express-app.suite.ts'
import { koaApp, serveKoa } from '../middleware/koa/koa-app.suite.ts'
import { rateLimit as expressLimit } from './express-rate-limit/index.ts'
import fastifyLimit from './fastify-rate-limit/index.ts'
import { rateLimiter as honoLimit, webSocketLimiter } from './hono-rate-limiter/index.ts'
import { rateLimit as koaLimit } from './koa-ratelimit/index.ts'
import { SluiceThrottlerGuard } from './nestjs-throttler/index.ts'

type Get = () => Promise<unknown>

/** SlowStore counts, and takes as long about it as `wait` says. */
class SlowStore {
  readonly #wait: () => void
  #hits = 0

  constructor(wait: () => void) {
    this.#wait = wait
  }

  increment(): { totalHits: number; resetTime: Date } {
    this.#wait()
    return { totalHits: ++this.#hits, resetTime: new Date(Date.now() + 60_000) }
  }

  decrement(): void {}
  resetKey(): void {}
}

/** The libraries that people come from: each starts an app with a limit of 1 a minute, in that library's options. */
const FACADES: [library: string, start: (observer: Observer, wait: () => void) => Promise<Get>][] = [
  [
    'express-rate-limit',
    async (observer, wait) => {
      const app = await runApp(expressLimit({ windowMs: 60_000, max: 1, observer, store: new SlowStore(wait) }))
      onTestFinished(() => app.close())
      return app.get
    },
  ],
  [
    '@fastify/rate-limit',
    async (observer, wait) => {
      const app = fastify()
      onTestFinished(() => app.close())
      const counts = new SlowStore(wait)
      class Store {
        incr(_key: string, callback: (error: null, result: { current: number; ttl: number }) => void): void {
          callback(null, { current: counts.increment().totalHits, ttl: 60_000 })
        }
        child(): Store {
          return this
        }
      }
      await app.register(fastifyLimit, { max: 1, timeWindow: 60_000, observer, store: Store })
      app.get('/', () => 'Hi there!')
      return () => app.inject('/')
    },
  ],
  [
    'hono-rate-limiter',
    async (observer, wait) => {
      const app = new Hono()
      const store = new SlowStore(wait)
      app.use(honoLimit({ windowMs: 60_000, limit: 1, keyGenerator: () => 'a', observer, store }))
      app.get('/', (c) => c.text('Hi there!'))
      return async () => app.request('/')
    },
  ],
  [
    'hono-rate-limiter for WebSockets',
    async (observer, wait) => {
      const store = new SlowStore(wait)
      const limit = webSocketLimiter({ limit: 1, keyGenerator: () => 'a', observer, store, handler: () => {} })
      let events: Awaited<ReturnType<ReturnType<typeof limit>>> = {}
      const app = new Hono().get('/', async (c) => {
        events = await limit(() => ({ onMessage: () => {} }))(c as never)
        return c.text('')
      })
      await app.request('/')
      return async () => events.onMessage?.(new MessageEvent('message'), {} as WSContext)
    },
  ],
  ...[{}, { disableHeader: true }, { headers: { total: 'all' } }].map((more): (typeof FACADES)[number] => [
    `koa-ratelimit and ${JSON.stringify(more)}`,
    async (observer, wait) => {
      class SlowMap extends Map<unknown, unknown> {
        override get(key: unknown): unknown {
          wait()
          return super.get(key)
        }
      }
      const options = { driver: 'memory', db: new SlowMap(), max: 1, duration: 60_000, id: () => 'a' } as const
      const client = await serveKoa(koaApp([koaLimit({ ...options, ...more, observer })]))
      onTestFinished(() => client.close())
      return client.get
    },
  ]),
  ...[true, false].map((setHeaders): (typeof FACADES)[number] => [
    `@nestjs/throttler and setHeaders: ${setHeaders}`,
    async (observer, wait) => {
      const guard = new ThrottlerGuard(observer, setHeaders, new SlowStore(wait))
      await guard.onModuleInit()
      return () => guard.hit()
    },
  ]),
]

/** Guards one handler, outside of an app. */
class ThrottlerGuard extends SluiceThrottlerGuard {
  protected override observer: Observer

  constructor(observer: Observer, setHeaders: boolean, store: SlowStore) {
    const increment = async () => {
      const { totalHits } = store.increment()
      return { totalHits, timeToExpire: 60, isBlocked: totalHits > 1, timeToBlockExpire: totalHits > 1 ? 60 : 0 }
    }
    super({ throttlers: [{ ttl: 60_000, limit: 1 }], setHeaders }, { increment }, new Reflector())
    this.observer = observer
  }

  async hit(): Promise<unknown> {
    const headers = new Map<string, string>()
    const res = {
      header: (name: string, value: string) => headers.set(name, value),
      setHeader: (name: string, value: string) => headers.set(name, value),
      getHeader: (name: string) => headers.get(name),
      headersSent: false,
    }
    const context = {
      getHandler: () => ThrottlerGuard,
      getClass: () => ThrottlerGuard,
      switchToHttp: () => ({ getRequest: () => ({ headers: {}, ip: '203.0.113.7' }), getResponse: () => res }),
    }
    return this.canActivate(context as never).catch(() => false)
  }
}

describe.each(FACADES)('with the options of %s', (_, start) => {
  it('an observer hears of every decision, under the real limit, and how long it took', async () => {
    const received: unknown[] = []
    let nowMs = 1_000
    const now = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    onTestFinished(() => now.mockRestore())
    const observer: Observer = {
      decided: (charges, { allowed, tightest }, ms) => {
        for (const { domain, rule } of charges)
          received.push([domain, rule.limit.max, tightest?.verdict.kind, allowed, ms])
      },
    }
    let waitMs = 0
    const get = await start(observer, () => {
      nowMs += waitMs
    })
    waitMs = 7
    await get()
    await get()
    expect(received).toEqual([
      ['hits', 1, 'allowed', true, 7],
      ['hits', 1, 'refused', false, 7],
    ])
  })
})
