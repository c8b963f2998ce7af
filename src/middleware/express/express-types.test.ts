import type { Request, RequestHandler } from 'express'
import type * as peer from 'express-rate-limit'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/express', () => {
  it('take the options of express-rate-limit, and give what it gives', () => {
    const options = {} as Partial<peer.Options>
    expectTypeOf(own.rateLimit(options)).toExtend<own.RateLimitRequestHandler>()
    const limiter = own.rateLimit({ windowMs: 60_000, limit: 5 })
    expectTypeOf(limiter).toExtend<peer.RateLimitRequestHandler>()
    expectTypeOf(own.rateLimit()).toExtend<RequestHandler>()
    expectTypeOf(own.rateLimit({ limit: (request) => (request.ip ? 5 : 1) })).toExtend<own.RateLimitRequestHandler>()
    expectTypeOf(own.default).toEqualTypeOf(own.rateLimit)
  })

  it('take stores for express-rate-limit, and are such stores', () => {
    expectTypeOf((store: peer.Store) => own.rateLimit({ store })).returns.toExtend<RequestHandler>()
    expectTypeOf<peer.LegacyStore>().toExtend<own.LegacyStore>()
    expectTypeOf<own.SluiceStore>().toExtend<peer.Store>()
    expectTypeOf<own.MemoryStore>().toExtend<peer.Store>()
    expectTypeOf<own.ClientRateLimitInfo>().toEqualTypeOf<{ totalHits: number; resetTime: Date | undefined }>()
    expectTypeOf<peer.RateLimitInfo>().toExtend<own.RateLimitInfo>()
    expectTypeOf<peer.ValueDeterminingMiddleware<string>>().toExtend<own.ValueDeterminingMiddleware<string>>()
    expectTypeOf<own.DraftHeadersVersion>().toEqualTypeOf<peer.DraftHeadersVersion>()
  })

  it('give what the plain options give', () => {
    const limiter = own.rateLimit({ limit: 100, window: '1m' })
    expectTypeOf(limiter).toExtend<RequestHandler>()
    expectTypeOf(limiter.reset).toBeCallableWith({ ip: '203.0.113.7' })
    expectTypeOf(limiter.close).returns.resolves.toBeVoid()
    own.rateLimit({
      limits: [{ limit: { free: 1, pro: 2 }, window: '1m', by: ['user', 'ip'] }],
      identity: { user: (request) => request.headers.from, tier: async (request: Request) => request.hostname },
      cost: (request, caller) => (caller.user === undefined ? request.path.length : 1),
    })
  })

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error a window is a duration
      own.rateLimit({ limit: 1, window: true }),
      // @ts-expect-error there is no such algorithm
      own.rateLimit({ limit: 1, window: '1m', algorithm: 'leaky' }),
      // @ts-expect-error there is no such draft
      own.rateLimit({ standardHeaders: 'draft-5' }),
      // @ts-expect-error there is no such option
      own.rateLimit({ windwoMs: 1 }),
      // @ts-expect-error the two kinds of options do not mix
      own.rateLimit({ limit: 1, window: '1m', windowMs: 60_000 }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
