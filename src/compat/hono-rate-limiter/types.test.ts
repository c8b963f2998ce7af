import { Hono, type MiddlewareHandler } from 'hono'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

interface AppEnv {
  Variables: { user: string }
}

describe('the types of sluice/compat/hono-rate-limiter', () => {
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

  it('have stores that go with each other', () => {
    expectTypeOf<own.SluiceStore>().toExtend<own.Store>()
    expectTypeOf<own.MemoryStore>().toExtend<own.Store>()
    expectTypeOf((store: own.Store) => own.rateLimiter({ store })).returns.toExtend<MiddlewareHandler>()
  })

  it('know what the context says', () => {
    const app = new Hono().use(own.rateLimiter({ limit: 1 })).get('/', (c) => {
      expectTypeOf(c.get('rateLimit')).toEqualTypeOf<own.RateLimitVariable>()
      expectTypeOf(c.get('rateLimitStore').resetKey).toBeCallableWith('key')
      return c.text('')
    })
    expectTypeOf(app).toExtend<Hono>()
  })

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error there is no such draft
      own.rateLimiter({ standardHeaders: 'draft-5' }),
      // @ts-expect-error there is no such option
      own.rateLimiter({ windwoMs: 1 }),
      // @ts-expect-error an option of sluice/hono
      own.rateLimiter({ limit: 1, window: '1m' }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
