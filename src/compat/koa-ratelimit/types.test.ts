import type { createClient } from '@redis/client'
import type { Redis } from 'ioredis'
import Koa, { type Middleware } from 'koa'
import { describe, expectTypeOf, it } from 'vitest'
import * as own from './index.ts'

describe('the types of sluice/compat/koa-ratelimit', () => {
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

  it('refuse what is wrong', () => {
    const wrong = (): unknown[] => [
      // @ts-expect-error there is no such driver
      own.rateLimit({ driver: 'file' }),
      // @ts-expect-error there is no such option
      own.rateLimit({ durration: 1 }),
      // @ts-expect-error an option of sluice/koa
      own.rateLimit({ max: 1, window: '1m' }),
    ]
    expectTypeOf(wrong).returns.toExtend<unknown[]>()
  })
})
