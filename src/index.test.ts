import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Decision, Limit, MemoryStats, Permit, RateLimiter, RuleLimiter, Verdict } from './index.ts'
import * as sluice from './index.ts'

const { createLimiter, rateLimit, SluiceError } = sluice

describe('the package', () => {
  it('exports what is documented, and nothing else', () => {
    expect(Object.keys(sluice).sort()).toEqual([
      'Permit',
      'RateLimiter',
      'RuleLimiter',
      'SharedPermit',
      'SharedRateLimiter',
      'SharedRuleLimiter',
      'SluiceError',
      'createLimiter',
      'rateLimit',
    ])
  })

  it('raises errors that can be distinguished by class and code', () => {
    try {
      rateLimit({ limit: -1, window: '1m' })
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(SluiceError)
      expect(error).toMatchObject({ name: 'SluiceError', code: 'LIMIT_INVALID', where: 'limit' })
    }
  })
})

describe('types of rateLimit', () => {
  const limiter = rateLimit({ limit: 5, window: '1m' })

  it('answers with a Verdict, not with a promise of one', () => {
    expectTypeOf(limiter).toEqualTypeOf<RateLimiter>()
    expectTypeOf(limiter.check('a')).toEqualTypeOf<Verdict>()
    expectTypeOf(limiter.check('a').allowed).toEqualTypeOf<boolean>()
    expectTypeOf(limiter.peek('a')).toEqualTypeOf<Verdict>()
    expectTypeOf(limiter.refund('a', 2)).toEqualTypeOf<Verdict>()
    expectTypeOf(limiter.reset('a')).toEqualTypeOf<void>()
    expectTypeOf(limiter.limit).toEqualTypeOf<Limit>()
    expectTypeOf(limiter.stats).toEqualTypeOf<MemoryStats>()
  })

  it('narrows a Verdict by its kind, and by allowed', () => {
    const verdict = limiter.check('a')
    if (verdict.kind === 'allowed') expectTypeOf(verdict.delayMs).toEqualTypeOf<number>()
    if (verdict.kind === 'refused') expectTypeOf(verdict.retryAfterMs).toEqualTypeOf<number>()
    if (verdict.kind === 'impossible') expectTypeOf(verdict.maxCost).toEqualTypeOf<number>()
    if (verdict.allowed) expectTypeOf(verdict.kind).toEqualTypeOf<'allowed'>()
    else expectTypeOf(verdict.kind).toEqualTypeOf<'refused' | 'impossible'>()
    // @ts-expect-error: only a refusal says when to come again
    expectTypeOf(verdict.retryAfterMs).toEqualTypeOf<number>()
  })

  it('takes only the options there are', () => {
    const typesOnly = (): void => {
      // @ts-expect-error: a limit is needed
      rateLimit({ window: '1m' })
      // @ts-expect-error: a typo
      rateLimit({ limit: 5, windows: '1m' })
      // @ts-expect-error: no such algorithm
      rateLimit({ limit: 5, window: '1m', algorithm: 'sliding' })
      // @ts-expect-error: a key is text
      limiter.check(42)
    }
    expect(typesOnly).toBeTypeOf('function')
  })

  it('gives a permit that ends with its block', () => {
    const places = rateLimit({ limit: 1, algorithm: 'concurrency' })
    {
      using permit = places.acquire('a')
      expectTypeOf(permit).toEqualTypeOf<Permit<Verdict>>()
      expectTypeOf(permit.release).returns.toEqualTypeOf<boolean>()
      expect([permit.allowed, places.check('a').allowed]).toEqual([true, false])
    }
    expect(places.check('a').allowed).toBe(true)
  })
})

describe('types of createLimiter', () => {
  const limiter = createLimiter({
    rules: {
      domain: 'api',
      descriptors: [{ key: 'user', rate_limit: { unit: 'minute', requests_per_unit: 5 } }],
    },
  })
  const request = { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }

  it('answers with a Decision, not with a promise of one', () => {
    expectTypeOf(limiter).toEqualTypeOf<RuleLimiter>()
    expectTypeOf(limiter.check(request)).toEqualTypeOf<Decision>()
    expectTypeOf(limiter.check(request).retryAfterMs).toEqualTypeOf<number | undefined>()
    expectTypeOf(limiter.reset(request)).toEqualTypeOf<void>()
  })

  it('gives a permit that ends with its block', () => {
    using permit = limiter.acquire(request)
    expectTypeOf(permit).toEqualTypeOf<Permit<Decision>>()
    expect(permit.allowed).toBe(true)
  })

  it('takes only the options there are', () => {
    const typesOnly = (): void => {
      // @ts-expect-error: a typo
      createLimiter({ rules: { domain: 'api' }, maxkeys: 5 })
      // @ts-expect-error: values are text
      limiter.check({ domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 42 }] }] })
    }
    expect(typesOnly).toBeTypeOf('function')
  })
})
