import type { Request, RequestHandler } from 'express'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/express', () => {
  it('match a middleware', () => {
    expectTypeOf(own.default).toEqualTypeOf(own.rateLimit)
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
      // @ts-expect-error there is no such option
      own.rateLimit({ limit: 1, window: '1m', brust: 2 }),
      // @ts-expect-error an option of express-rate-limit
      own.rateLimit({ limit: 1, window: '1m', windowMs: 60_000 }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
