import type { Context, Middleware } from 'koa'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/koa', () => {
  it('match a middleware', () => {
    expectTypeOf(own.default).toEqualTypeOf(own.rateLimit)
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
      // @ts-expect-error there is no such option
      own.rateLimit({ limit: 1, window: '1m', brust: 2 }),
      // @ts-expect-error an option of koa-ratelimit
      own.rateLimit({ limit: 1, window: '1m', max: 60_000 }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
