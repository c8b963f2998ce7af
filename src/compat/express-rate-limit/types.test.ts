import type { RequestHandler } from 'express'
import type * as peer from 'express-rate-limit'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/compat/express-rate-limit', () => {
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

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error there is no such draft
      own.rateLimit({ standardHeaders: 'draft-5' }),
      // @ts-expect-error there is no such option
      own.rateLimit({ windwoMs: 1 }),
      // @ts-expect-error an option of sluice/express
      own.rateLimit({ limit: 1, window: '1m' }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
