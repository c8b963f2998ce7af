import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sharedRedis } from '../../tests/servers/shared.ts'
import type { Decision } from '../core/combine.ts'
import type { Verdict } from '../core/decision.ts'
import type { CheckRequest } from '../core/request.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import { createLimiter } from './create-limiter.ts'
import { rateLimit } from './rate-limit.ts'

const ALGORITHMS = ['sliding_window', 'token_bucket', 'gcra', 'leaky_bucket', 'fixed_window', 'sliding_log'] as const
const STORES = ['in memory', 'on Redis'] as const

let url: string
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  url = (await sharedRedis()).url
})
afterEach(() => Promise.all(open.splice(0).map((limiter) => limiter.close())))

/** Makes a limit of 100 an hour, in memory or on Redis. */
function limiterOf(store: (typeof STORES)[number], algorithm: (typeof ALGORITHMS)[number]) {
  if (store === 'in memory') return rateLimit({ limit: 100, window: '1d', algorithm })
  const shared = { redis: url, name: randomUUID(), timeoutMs: 60_000, onStoreFailure: 'closed' } as const
  const limiter = rateLimit({ limit: 100, window: '1d', algorithm, ...shared })
  open.push(limiter)
  return limiter
}

const cases = STORES.flatMap((store) => ALGORITHMS.map((algorithm) => [algorithm, store] as const))

describe.each(cases)('settle of %s %s', (algorithm, store) => {
  const limiter = limiterOf.bind(undefined, store, algorithm)

  it('gives back what was too much, and charges what was too little', async () => {
    const limit = limiter()
    const less = await limit.check('less', 50)
    expect(await limit.settle('less', less, { charged: 50, actual: 20 })).toMatchObject({ remaining: 80 })
    const more = await limit.check('more', 50)
    expect(await limit.settle('more', more, { charged: 50, actual: 70 })).toMatchObject({ remaining: 30, dropped: 0 })
    const looked = await limit.peek('looked')
    expect(await limit.settle('looked', looked, { charged: 0, actual: 30 })).toMatchObject({ remaining: 70 })
  })

  it('goes into debt, one budget deep: later hits are refused', async () => {
    const limit = limiter()
    const verdict = await limit.check('owes', 50)
    const settled = await limit.settle('owes', verdict, { charged: 50, actual: 130 })
    expect(settled).toMatchObject({ allowed: true, remaining: 0, dropped: 0 })
    expect(await limit.check('owes')).toMatchObject({ kind: 'refused', remaining: 0 })
    expect(await limit.peek('owes')).toMatchObject({ kind: 'refused' })
  })

  it('drops what is beyond the bound, and says how much', async () => {
    const limit = limiter()
    const verdict = await limit.check('deep', 100)
    const settled = await limit.settle('deep', verdict, { charged: 100, actual: 1000 })
    // A bucket has been filling meanwhile, by parts of a hit.
    expect(settled?.dropped).toBeGreaterThanOrEqual(799)
    expect(settled?.dropped).toBeLessThanOrEqual(800)
  })

  it('does nothing for what was refused, or cost what was charged', async () => {
    const limit = limiter()
    const fine = await limit.check('none', 100)
    expect(await limit.settle('none', fine, { charged: 100, actual: 100 })).toBeUndefined()
    const refused = await limit.check('none', 50)
    expect(refused.allowed).toBe(false)
    expect(await limit.settle('none', refused, { charged: 50, actual: 10 })).toBeUndefined()
    expect(await limit.settle('none', refused, { charged: 50, actual: 90 })).toBeUndefined()
  })
})

const RULES = (name: string, consistency: 'exact' | 'leased'): RuleFile => ({
  domain: name,
  descriptors: [
    {
      key: 'model',
      rate_limits: [
        { name: 'tokens', unit: 'hour', requests_per_unit: 100, consistency, timeout_ms: 10_000 },
        { name: 'weighed', unit: 'day', requests_per_unit: 1000, cost: 3, consistency, timeout_ms: 10_000 },
        { name: 'free', unit: 'minute', requests_per_unit: 5, cost: 0, consistency, timeout_ms: 10_000 },
      ],
    },
  ],
})

describe.each(['in memory', 'on Redis', 'on Redis, leased'])('settle of rules %s', (where) => {
  const domain = randomUUID()
  const limiterOfRules = () => {
    const rules = RULES(domain, where.endsWith('leased') ? 'leased' : 'exact')
    if (where === 'in memory') return createLimiter({ rules })
    const limiter = createLimiter({ rules, redis: url })
    open.push(limiter)
    return limiter
  }
  const asking = (cost: number): CheckRequest => {
    return { domain, descriptors: [{ entries: [{ key: 'model', value: 'large' }] }], cost }
  }
  const verdictOf = (decision: Decision | undefined, name: string): Verdict | undefined =>
    decision?.verdicts.find(({ rule }) => rule.name === name)?.verdict

  it('charges every rule by its weight, and refuses after a debit that goes over', async () => {
    const limiter = limiterOfRules()
    const decision = await limiter.check(asking(10))
    expect(decision.verdicts.map(({ verdict }) => verdict.allowed)).toEqual([true, true, true])
    const settled = await limiter.settle(asking(10), decision, 120)
    expect(verdictOf(settled, 'tokens')).toMatchObject({ allowed: true, remaining: 0, dropped: 0 })
    expect(verdictOf(settled, 'weighed')).toMatchObject({ allowed: true, dropped: 0 })
    expect(verdictOf(settled, 'free')).toBeUndefined()
    const next = await limiter.check(asking(1))
    expect(next).toMatchObject({ allowed: false })
    expect(next.tightest?.rule.name).toBe('tokens')
    expect(verdictOf(next, 'free')?.allowed).toBe(true)
    expect(await limiter.settle(asking(1), next, 50)).toBeUndefined()
  })
})
