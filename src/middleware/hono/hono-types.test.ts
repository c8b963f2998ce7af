import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

interface AppEnv {
  Variables: { user: string }
}

describe('the types of sluice/hono', () => {
  it('match a middleware', () => {
    const limiter = own.rateLimit({ limit: 100, window: '1m' })
    expectTypeOf(limiter).toExtend<MiddlewareHandler>()
    expectTypeOf(limiter.reset).toBeCallableWith({ ip: '203.0.113.7' })
    expectTypeOf(limiter.close).returns.resolves.toBeVoid()
    const typed = own.rateLimit<AppEnv>({
      limits: [{ limit: { free: 1, pro: 2 }, window: '1m', by: ['user', 'ip'] }],
      identity: { user: (c) => c.get('user'), tier: async (c: Context<AppEnv>) => c.var.user },
      cost: (c, caller) => (caller.user === undefined ? c.req.path.length : 1),
      getConnInfo,
      handler: (c, _next, { refusal }) => c.text(refusal.body),
    })
    new Hono<AppEnv>().use(typed)
  })

  it('know what the context says', () => {
    const app = new Hono().use(own.rateLimit({ limit: 1, window: '1m' })).get('/', (c) => {
      expectTypeOf(c.get('rateLimit')).toEqualTypeOf<own.RateLimitVariable>()
      expectTypeOf(c.var.rateLimit.remaining).toBeNumber()
      return c.text('')
    })
    expectTypeOf(app).toExtend<Hono>()
    expectTypeOf<own.Budget>().toExtend<own.RateLimitVariable>()
  })

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error a window is a duration
      own.rateLimit({ limit: 1, window: true }),
      // @ts-expect-error there is no such algorithm
      own.rateLimit({ limit: 1, window: '1m', algorithm: 'leaky' }),
      // @ts-expect-error there is no such option
      own.rateLimit({ limit: 1, window: '1m', brust: 2 }),
      // @ts-expect-error an option of hono-rate-limiter
      own.rateLimit({ limit: 1, window: '1m', windowMs: 60_000 }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
