import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

interface AppEnv {
  Variables: { user: string }
}

describe('the types of sluice/hono', () => {
  it('take the options of hono-rate-limiter, and know the context', () => {
    const limiter = own.rateLimiter({ windowMs: 60_000, limit: 5, keyGenerator: (c) => c.req.header('from') ?? '' })
    expectTypeOf(limiter).toExtend<MiddlewareHandler>()
    expectTypeOf(limiter).toExtend<own.HitMiddleware>()
    expectTypeOf(own.rateLimiter()).toExtend<own.HitMiddleware>()
    const typed = own.rateLimiter<AppEnv>({ limit: (c) => c.get('user').length, keyGenerator: async (c) => c.var.user })
    expectTypeOf(typed).toExtend<MiddlewareHandler<AppEnv>>()
    new Hono<AppEnv>().use(typed).get('/', limiter, (c) => c.text(c.get('user')))
    own.rateLimiter({ binding: (c) => c.env as own.CloudflareConfigType['binding'] & { limit: never } })
  })

  it('give what the plain options give', () => {
    const limiter = own.rateLimiter({ limit: 100, window: '1m' })
    expectTypeOf(limiter).toExtend<MiddlewareHandler>()
    expectTypeOf(limiter.reset).toBeCallableWith({ ip: '203.0.113.7' })
    expectTypeOf(limiter.close).returns.resolves.toBeVoid()
    const typed = own.rateLimiter<AppEnv>({
      limits: [{ limit: { free: 1, pro: 2 }, window: '1m', by: ['user', 'ip'] }],
      identity: { user: (c) => c.get('user'), tier: async (c: Context<AppEnv>) => c.var.user },
      cost: (c, caller) => (caller.user === undefined ? c.req.path.length : 1),
      getConnInfo,
      handler: (c, _next, { refusal }) => c.text(refusal.body),
    })
    new Hono<AppEnv>().use(typed)
  })

  it('know what the context says', () => {
    expectTypeOf(own.rateLimiter).toEqualTypeOf(own.rateLimit)
    const app = new Hono().use(own.rateLimit({ limit: 1, window: '1m' })).get('/', (c) => {
      expectTypeOf(c.get('rateLimit')).toEqualTypeOf<own.RateLimitVariable>()
      expectTypeOf(c.var.rateLimit.remaining).toBeNumber()
      expectTypeOf(c.get('rateLimitStore').resetKey).toBeCallableWith('key')
      return c.text('')
    })
    expectTypeOf(app).toExtend<Hono>()
    expectTypeOf<own.Budget>().toExtend<own.RateLimitVariable>()
  })

  it('have stores that go with each other', () => {
    expectTypeOf<own.SluiceStore>().toExtend<own.Store>()
    expectTypeOf<own.MemoryStore>().toExtend<own.Store>()
    expectTypeOf((store: own.Store) => own.rateLimiter({ store })).returns.toExtend<MiddlewareHandler>()
  })

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error a window is a duration
      own.rateLimiter({ limit: 1, window: true }),
      // @ts-expect-error there is no such algorithm
      own.rateLimiter({ limit: 1, window: '1m', algorithm: 'leaky' }),
      // @ts-expect-error there is no such draft
      own.rateLimiter({ standardHeaders: 'draft-5' }),
      // @ts-expect-error there is no such option
      own.rateLimiter({ windwoMs: 1 }),
      // @ts-expect-error the two kinds of options do not mix
      own.rateLimiter({ limit: 1, window: '1m', windowMs: 60_000 }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
