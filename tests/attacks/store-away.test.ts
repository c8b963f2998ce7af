import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RateLimitRule } from '../../src/core/limit-options.ts'
import { createLimiter } from '../../src/library/create-limiter.ts'
import { rateLimit } from '../../src/library/rate-limit.ts'
import { startRedis } from '../servers/redis.mjs'

// Whoever can take the store away does not take the limits away with it.

let gone: string
const open: { close(): Promise<void> }[] = []

beforeEach(async () => {
  const redis = await startRedis()
  gone = redis.url
  await redis.stop()
})
afterEach(() => Promise.all(open.splice(0).map((limiter) => limiter.close())))

const allowedOf = (answers: readonly { readonly allowed: boolean }[]): boolean[] =>
  answers.map(({ allowed }) => allowed)

describe('while Redis is unavailable, a limit that says nothing about it', () => {
  it('admits what is below the limit and refuses what is above, in the library', async () => {
    const limiter = rateLimit({ limit: 3, window: '1d', redis: gone, log: () => {} })
    open.push(limiter)
    const verdicts = []
    for (let i = 0; i < 5; i++) verdicts.push(await limiter.check('a'))
    expect(allowedOf(verdicts)).toEqual([true, true, true, false, false])
    expect(verdicts.every(({ fallback }) => fallback === 'local')).toBe(true)
  })

  it('does the same in a rule file, leased or not', async () => {
    const limit: RateLimitRule = { unit: 'hour', requests_per_unit: 3 }
    const descriptors = [
      { key: 'user', rate_limit: limit },
      { key: 'all', value: 'all', rate_limit: limit },
    ]
    const limiter = createLimiter({ rules: { domain: 'api', descriptors }, redis: gone, log: () => {} })
    open.push(limiter)
    for (const entry of [
      { key: 'user', value: 'a' },
      { key: 'all', value: 'all' },
    ]) {
      const decisions = []
      for (let i = 0; i < 5; i++)
        decisions.push(await limiter.check({ domain: 'api', descriptors: [{ entries: [entry] }] }))
      expect(allowedOf(decisions)).toEqual([true, true, true, false, false])
    }
  })
})
