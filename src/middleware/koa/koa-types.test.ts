import type { createClient } from '@redis/client'
import type { Redis } from 'ioredis'
import Koa, { type Context, type Middleware } from 'koa'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/koa', () => {
  it('take the options of koa-ratelimit', () => {
    const limiter = own.rateLimit({ driver: 'memory', db: new Map(), max: 5, id: (ctx) => ctx.get('from') || false })
    expectTypeOf(limiter).toExtend<Middleware>()
    expectTypeOf(limiter).toExtend<own.HitMiddleware>()
    expectTypeOf(own.rateLimit()).toExtend<own.HitMiddleware>()
    expectTypeOf(own.default).toEqualTypeOf(own.rateLimit)
    new Koa().use(limiter)
    expectTypeOf((db: Redis) => own.rateLimit({ driver: 'redis', db })).returns.toExtend<Middleware>()
    expectTypeOf((db: ReturnType<typeof createClient>) => own.rateLimit({ db })).returns.toExtend<Middleware>()
  })

  it('give what the plain options give', () => {
    const limiter = own.rateLimit({ limit: 100, window: '1m' })
    expectTypeOf(limiter).toExtend<Middleware>()
    expectTypeOf(limiter.reset).toBeCallableWith({ ip: '203.0.113.7' })
    expectTypeOf(limiter.close).returns.resolves.toBeVoid()
    own.rateLimit({
      limits: [{ limit: { free: 1, pro: 2 }, window: '1m', by: ['user', 'ip'] }],
      identity: { user: (ctx) => ctx.state.user, tier: async (ctx: Context) => ctx.state.tier },
      cost: (ctx, caller) => (caller.user === undefined ? ctx.path.length : 1),
      handler: (ctx, _next, { refusal }) => {
        ctx.body = refusal.body
      },
    })
  })

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error a window is a duration
      own.rateLimit({ limit: 1, window: true }),
      // @ts-expect-error there is no such driver
      own.rateLimit({ driver: 'file' }),
      // @ts-expect-error there is no such option
      own.rateLimit({ durration: 1 }),
      // @ts-expect-error the two kinds of options do not mix
      own.rateLimit({ limit: 1, window: '1m', max: 60_000 }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
