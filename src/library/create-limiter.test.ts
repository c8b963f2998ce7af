import { describe, expect, it } from 'vitest'
import type { CheckRequest } from '../core/request.ts'
import type { RuleFile } from '../core/rules/schema.ts'
import { createLimiter, type LimiterOptions, RuleLimiter } from './create-limiter.ts'

const START_MS = 1_700_000_040_000
const clock = { nowMs: () => START_MS }

const RULES: RuleFile = {
  domain: 'api',
  descriptors: [
    {
      key: 'user',
      rate_limit: { name: 'per-user', unit: 'minute', requests_per_unit: 3 },
      descriptors: [{ key: 'export', rate_limit: { name: 'exports', algorithm: 'concurrency', requests_per_unit: 1 } }],
    },
  ],
}

const alice: CheckRequest = { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }
const anExport: CheckRequest = {
  domain: 'api',
  descriptors: [
    {
      entries: [
        { key: 'user', value: 'alice' },
        { key: 'export', value: 'csv' },
      ],
    },
  ],
}

describe('createLimiter', () => {
  it('decides synchronously, on one domain or several', () => {
    const limiter = createLimiter({ rules: [RULES, { ...RULES, domain: 'other' }], clock })
    expect(limiter).toBeInstanceOf(RuleLimiter)
    expect([1, 2, 3, 4].map(() => limiter.check(alice).allowed)).toEqual([true, true, true, false])
    expect(limiter.check({ ...alice, domain: 'other' }).allowed).toBe(true)
  })

  it('gives the caller of a request the whole budget again', () => {
    const limiter = createLimiter({ rules: RULES, clock })
    limiter.check({ ...alice, cost: 3 })
    limiter.reset(alice)
    expect(limiter.check({ ...alice, cost: 3 }).allowed).toBe(true)
  })

  it('holds a place until the permit is released, and releases it once', () => {
    const limiter = createLimiter({ rules: RULES, clock })
    const permit = limiter.acquire(anExport)
    expect([permit.allowed, permit.decision.tightest?.rule.name]).toEqual([true, 'exports'])
    const refused = limiter.acquire(anExport)
    expect([refused.allowed, refused.release()]).toEqual([false, false])
    expect([permit.release(), permit.release()]).toEqual([true, false])
    expect(limiter.acquire(anExport).allowed).toBe(true)
  })

  it('releases a permit at the end of its block', () => {
    const limiter = createLimiter({ rules: RULES, clock })
    {
      using permit = limiter.acquire(anExport)
      expect(permit.allowed).toBe(true)
      expect(limiter.acquire(anExport).allowed).toBe(false)
    }
    expect(limiter.acquire(anExport).allowed).toBe(true)
  })

  it('does not mind that the rules it was given change later', () => {
    const rules = structuredClone(RULES) as { descriptors: unknown[] } & RuleFile
    const limiter = createLimiter({ rules, clock })
    rules.descriptors.length = 0
    expect(limiter.check({ ...alice, cost: 4 }).allowed).toBe(false)
  })

  it('works on the system clock when it is given none', () => {
    expect(createLimiter({ rules: RULES }).check(alice).allowed).toBe(true)
  })

  it.each<[string, unknown, string]>([
    [
      'an option it does not know',
      { rules: RULES, maxkeys: 5 },
      'OPTION_UNKNOWN: maxkeys: unknown option, did you mean "maxKeys"? Only documented options are accepted, so that a typo is never silently ignored.',
    ],
    [
      'maxKeys that hold nothing',
      { rules: RULES, maxKeys: 0 },
      'MAX_KEYS_INVALID: maxKeys: got 0. maxKeys must be a whole number from 1 to 67108864.',
    ],
    [
      'the same domain twice',
      { rules: [RULES, RULES] },
      'RULE_DUPLICATE_DOMAIN: rules[1].domain: "api" is already defined at rules[0].domain. A domain must be defined only once. Rename one, or merge them.',
    ],
  ])('refuses %s', (_, options, message) => {
    expect(() => createLimiter(options as LimiterOptions)).toThrow(expect.objectContaining({ message }))
  })

  it.each<[string, unknown, string]>([
    ['no domain', { descriptors: [] }, 'domain: got undefined'],
    ['no descriptors', { domain: 'api' }, 'descriptors: got undefined'],
    ['one descriptor that is no list', { domain: 'api', descriptors: { entries: [] } }, 'descriptors: got an object'],
    ['a descriptor without entries', { domain: 'api', descriptors: [{}] }, 'descriptors[0].entries: got undefined'],
    [
      'a key that is missing',
      { domain: 'api', descriptors: [{ entries: [{ value: 'alice' }] }] },
      'descriptors[0].entries[0].key: got undefined',
    ],
    [
      'a value that is not text',
      { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 42 }] }] },
      'descriptors[0].entries[0].value: got 42',
    ],
    [
      'a value that is missing, which would be one caller for all of them',
      { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: undefined }] }] },
      'descriptors[0].entries[0].value: got undefined',
    ],
  ])('refuses a request with %s', (_, request, reason) => {
    const limiter = createLimiter({ rules: RULES, clock })
    const message = `REQUEST_INVALID: ${reason}. A check must be {"domain": text, "descriptors": [{"entries": [{"key": text, "value": text}]}], "cost": whole number, "priority": critical, write, read or test}.`
    expect(() => limiter.check(request as CheckRequest)).toThrow(expect.objectContaining({ message }))
    expect(() => limiter.acquire(request as CheckRequest)).toThrow(expect.objectContaining({ message }))
    expect(() => limiter.reset(request as CheckRequest)).toThrow(expect.objectContaining({ message }))
  })

  it('refuses what a rule with a meter admits: an app has no ledger, and nothing passes unpaid', () => {
    const rate_limit = { name: 'paid', unit: 'minute', requests_per_unit: 3, ledger: 'exports' } as const
    const limiter = createLimiter({ rules: { domain: 'api', descriptors: [{ key: 'user', rate_limit }] }, clock })
    const request = { domain: 'api', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] }
    for (let i = 0; i < 5; i++) {
      const { allowed, tightest } = limiter.check(request)
      expect([allowed, tightest?.verdict.ledger?.code, tightest?.rule.response?.status]).toEqual([
        false,
        'LEDGER_UNAVAILABLE',
        503,
      ])
    }
    expect(limiter.check({ ...request, cost: 0 }).tightest?.verdict.remaining).toBe(3)
  })
})
