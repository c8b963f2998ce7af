import { randomUUID } from 'node:crypto'
import { createClient } from '@redis/client'
import { afterEach, beforeAll, describe, expect, expectTypeOf, it } from 'vitest'
import { startRedis } from '../../tests/servers/redis.mjs'
import { sharedRedis } from '../../tests/servers/shared.ts'
import type { Decision } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import type { RedisClient } from '../stores/redis/connection/client-connection.ts'
import { createLimiter } from './create-limiter.ts'
import type { Permit, SharedPermit } from './permit.ts'
import { type RateLimiter, rateLimit } from './rate-limit.ts'
import type { SharedRateLimiter } from './shared-rate-limit.ts'

let url: string
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  url = (await sharedRedis()).url
})
afterEach(() => Promise.all(open.splice(0).map((limiter) => limiter.close())))

const opened = <L extends { close(): Promise<void> }>(limiter: L): L => {
  open.push(limiter)
  return limiter
}
// A machine that is busy must not make Redis look away.
const timeoutMs = 60_000
// What gives permits back, and resets, has the time of the store, not that of the limit.
const redisTimeoutMs = timeoutMs
const named = () => ({ name: randomUUID(), timeoutMs, redisTimeoutMs })

describe('rateLimit on Redis', () => {
  it('shares a budget between limiters of one name, and not with another’s', async () => {
    const own = named()
    const one = opened(rateLimit({ limit: 2, window: '1d', redis: url, ...own }))
    const two = opened(rateLimit({ limit: 2, window: '1d', redis: url, ...own }))
    const other = opened(rateLimit({ limit: 2, window: '1d', redis: url, ...named() }))
    expect((await one.check('a')).remaining).toBe(1)
    expect((await two.check('a')).remaining).toBe(0)
    expect(await one.check('a')).toMatchObject({ kind: 'refused', remaining: 0 })
    expect((await one.check('b')).allowed).toBe(true)
    expect((await other.check('a')).remaining).toBe(1)
  })

  it('reaches Redis with its very first call', async () => {
    const verdict = await opened(rateLimit({ limit: 2, window: '1d', redis: url, ...named() })).check('a')
    expect(verdict.fallback).toBeUndefined()
  })

  it('looks, weighs, refunds and resets', async () => {
    const limiter = opened(rateLimit({ limit: 10, window: '1d', redis: url, ...named() }))
    expect((await limiter.check('a', 4)).remaining).toBe(6)
    expect((await limiter.peek('a')).remaining).toBe(6)
    expect((await limiter.refund('a', 3)).remaining).toBe(9)
    expect(await limiter.check('a', 11)).toMatchObject({ kind: 'impossible', maxCost: 10 })
    await limiter.reset('a')
    expect((await limiter.peek('a')).remaining).toBe(10)
  })

  it('hands out permits, and takes each back once', async () => {
    const limiter = opened(rateLimit({ limit: 1, algorithm: 'concurrency', redis: url, ...named() }))
    const permit = await limiter.acquire('a')
    expect(permit.allowed).toBe(true)
    expect((await limiter.acquire('a')).allowed).toBe(false)
    expect([await permit.release(), await permit.release()]).toEqual([true, false])
    {
      await using again = await limiter.acquire('a')
      expect(again.allowed).toBe(true)
    }
    expect((await limiter.acquire('a')).allowed).toBe(true)
  })

  it('takes a client of the app, and leaves it open', async () => {
    const client = await createClient({ url, RESP: 2 }).connect()
    const limiter = rateLimit({ limit: 1, window: '1d', redis: client as unknown as RedisClient, ...named() })
    expect([(await limiter.check('a')).allowed, (await limiter.check('a')).allowed]).toEqual([true, false])
    await limiter.close()
    expect(client.isReady).toBe(true)
    client.destroy()
  })

  it('does as onStoreFailure says while Redis is unavailable', async () => {
    const redis = await startRedis()
    const limits = (['open', 'closed', 'local'] as const).map((onStoreFailure) =>
      opened(
        rateLimit({ limit: 10, window: '1d', redis: redis.url, onStoreFailure, log: () => {}, name: onStoreFailure }),
      ),
    )
    await redis.stop()
    const verdicts = await Promise.all(limits.map((limiter) => limiter.check('a')))
    expect(verdicts.map(({ allowed, fallback }) => [allowed, fallback])).toEqual([
      [true, 'open'],
      [false, 'closed'],
      [true, 'local'],
    ])
  })

  it.each([
    ['an address that is none', 'http://localhost', 'REDIS_URL_INVALID'],
    ['a client that is none', {} as never, 'REDIS_CLIENT_INVALID'],
  ])('says immediately what is wrong with %s', (_, redis, code) => {
    expect(() => rateLimit({ limit: 1, window: '1m', redis })).toThrow(code)
  })

  it.each([
    ['onStoreFailure', 'opne'],
    ['localShare', '0.5'],
    ['localShare', 0],
    ['timeoutMs', '5'],
    ['timeoutMs', 0],
    ['name', ''],
  ])('says immediately that %s is not %o', (option, value) => {
    const options = { limit: 1, window: '1m', redis: 'redis://127.0.0.1:1', [option]: value } as never
    expect(() => rateLimit(options)).toThrow(`GATE_OPTIONS_INVALID: ${option}: got`)
  })

  it('rejects wrong arguments', async () => {
    const limiter = opened(rateLimit({ limit: 1, window: '1m', redis: url }))
    await expect(limiter.check('')).rejects.toThrow('KEY_INVALID')
    await expect(limiter.check('a', 0.5)).rejects.toThrow('COST_INVALID')
    await expect(limiter.refund('a', -1)).rejects.toThrow('COST_INVALID')
    await expect(limiter.acquire('a')).rejects.toThrow('ACQUIRE_NOT_APPLICABLE')
  })

  it('notifies an observer of every decision', async () => {
    const received: unknown[] = []
    const observer = { decided: (charges: readonly object[]) => received.push(...charges) }
    const limiter = opened(rateLimit({ limit: 1, window: '1d', redis: url, observer, ...named() }))
    await limiter.check('a')
    expect(received).toMatchObject([{ cost: 1, entries: [{ key: 'key', value: 'a' }] }])
  })
})

describe('createLimiter on Redis', () => {
  const rulesOf = (domain: string) => ({
    domain,
    descriptors: [
      { key: 'user', rate_limit: { unit: 'hour' as const, requests_per_unit: 2, timeout_ms: timeoutMs } },
      { key: 'job', rate_limit: { algorithm: 'concurrency' as const, requests_per_unit: 1, timeout_ms: timeoutMs } },
    ],
  })
  const ask = (domain: string, key: string) => ({ domain, descriptors: [{ entries: [{ key, value: 'a' }] }] })

  it('shares budgets and permits, and gives them back', async () => {
    const domain = randomUUID()
    const one = opened(createLimiter({ rules: rulesOf(domain), redis: url, redisTimeoutMs }))
    const two = opened(createLimiter({ rules: rulesOf(domain), redis: url, redisTimeoutMs }))
    expect((await one.check(ask(domain, 'user'))).tightest?.verdict.remaining).toBe(1)
    expect((await two.check(ask(domain, 'user'))).tightest?.verdict.remaining).toBe(0)
    expect((await one.check(ask(domain, 'user'))).allowed).toBe(false)
    await two.reset(ask(domain, 'user'))
    expect((await one.check({ ...ask(domain, 'user'), cost: 0 })).tightest?.verdict.remaining).toBe(2)
    const permit = await one.acquire(ask(domain, 'job'))
    expect((await two.acquire(ask(domain, 'job'))).allowed).toBe(false)
    await permit.release()
    expect((await two.acquire(ask(domain, 'job'))).allowed).toBe(true)
    await expect(one.check({ domain } as never)).rejects.toThrow('REQUEST_INVALID')
  })
})

describe('types', () => {
  it('distinguish a limiter in memory from one on Redis', () => {
    const typesOnly = (redis: string | undefined): void => {
      expectTypeOf(rateLimit({ limit: 1, window: '1ms' })).toEqualTypeOf<RateLimiter>()
      expectTypeOf(rateLimit({ limit: 1, window: '1ms', redis: 'redis://x' })).toEqualTypeOf<SharedRateLimiter>()
      const either = rateLimit({ limit: 1, window: '1ms', redis })
      expectTypeOf(either.check('a')).toEqualTypeOf<Verdict | Promise<Verdict>>()
      expectTypeOf(either.acquire('a')).toEqualTypeOf<Permit | Promise<SharedPermit>>()
      const rules = { domain: 'd' }
      expectTypeOf(createLimiter({ rules }).check).returns.toEqualTypeOf<Decision>()
      expectTypeOf(createLimiter({ rules, redis: 'redis://x' }).check).returns.toEqualTypeOf<Promise<Decision>>()
    }
    expect(typesOnly).toBeTypeOf('function')
  })
})
