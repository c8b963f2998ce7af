import { describe, expect, it } from 'vitest'
import { compileLimit, type Limit, type LimitOptions } from '../limit.ts'
import type { Entry } from '../request.ts'
import { compileObjects } from './compile.ts'
import { describeLimit } from './describe.ts'
import { type Account, type AccountLookup, match, type OwnLimit } from './match.ts'
import type { Domain, Rule } from './rule-set.ts'
import type { RuleFile } from './schema.ts'

const limit = (name: string, requests_per_unit: number) => ({ name, unit: 'minute', requests_per_unit })

const FILE: RuleFile = {
  domain: 'platform',
  tiers: {
    free: { rate_limits: [limit('free', 100), { ...limit('free-hour', 1_000), unit: 'hour' }] },
    pro: {
      rate_limit: limit('pro', 1_000),
      descriptors: [
        { key: 'endpoint', value: '/orders', rate_limit: limit('pro-orders', 200) },
        { key: 'endpoint', value: '/reports*', rate_limit: limit('pro-reports', 20) },
        { key: 'region', rate_limit: limit('pro-region', 300) },
      ],
    },
    enterprise: { rate_limit: { name: 'enterprise', unlimited: true } },
    silent: {},
  },
  descriptors: [
    {
      key: 'api_key',
      tiered: true,
      rate_limit: limit('own', 60),
      descriptors: [
        { key: 'endpoint', value: '/orders', rate_limit: limit('own-orders', 20) },
        { key: 'endpoint', rate_limit: limit('own-endpoint', 30) },
        { key: 'token', secret: true, rate_limit: limit('own-token', 10) },
      ],
    },
    { key: 'ip', rate_limit: limit('ip', 5) },
  ],
}

const compile = (changes: Partial<RuleFile> = {}): Domain =>
  compileObjects([{ ...FILE, ...changes }]).domains.get('platform') as Domain
const leaf = compile()
const path = compile({ evaluate: 'path' })

const entriesOf = (text: string): Entry[] =>
  text.split(' ').map((part) => ({ key: part.split('=')[0], value: part.split('=')[1] }))
const names = (rules: readonly Rule[]): string => rules.map(({ name }) => name).join(' ')

describe('a tier', () => {
  it.each<[entries: string, tier: string | undefined, inLeaf: string, inPath: string]>([
    ['api_key=k', undefined, 'own', 'own'],
    ['api_key=k', 'free', 'free free-hour', 'free free-hour'],
    ['api_key=k', 'pro', 'pro', 'pro'],
    ['api_key=k', 'enterprise', 'enterprise', 'enterprise'],
    ['api_key=k', 'silent', 'own', 'own'],
    ['api_key=k', 'unheard-of', 'own', 'own'],
    ['api_key=k', '', 'own', 'own'],
    ['api_key=k', '__proto__', 'own', 'own'],
    ['api_key=k endpoint=/orders', undefined, 'own-orders', 'own own-orders'],
    ['api_key=k endpoint=/orders', 'free', 'own-orders', 'free free-hour own-orders'],
    ['api_key=k endpoint=/orders', 'pro', 'pro-orders', 'pro pro-orders'],
    ['api_key=k endpoint=/orders', 'enterprise', 'own-orders', 'enterprise own-orders'],
    ['api_key=k endpoint=/reports/1', 'pro', 'pro-reports', 'pro pro-reports'],
    ['api_key=k endpoint=/reports/1', 'free', 'own-endpoint', 'free free-hour own-endpoint'],
    ['api_key=k endpoint=/other', 'pro', 'own-endpoint', 'pro own-endpoint'],
    ['api_key=k region=eu', 'pro', 'pro-region', 'pro pro-region'],
    ['api_key=k region=eu', 'free', '', 'free free-hour'],
    ['api_key=k endpoint=/orders page=1', 'pro', '', 'pro pro-orders'],
    ['ip=1.2.3.4', 'pro', 'ip', 'ip'],
  ])('for %s in %s: %s; with those on the way: %s', (entries, tier, inLeaf, inPath) => {
    expect(names(match(leaf, entriesOf(entries), tier))).toBe(inLeaf)
    expect(names(match(path, entriesOf(entries), tier))).toBe(inPath)
  })

  it('counts on the counters of the rule that it stands in for, position by position', () => {
    const ids = [undefined, 'free', 'pro'].map((tier) => match(leaf, entriesOf('api_key=k'), tier).map(({ id }) => id))
    expect(ids).toEqual([['api_key'], ['api_key', 'api_key#2'], ['api_key']])
    const orders = [undefined, 'pro'].map((tier) => match(leaf, entriesOf('api_key=k endpoint=/orders'), tier)[0].id)
    expect(orders).toEqual(['api_key/endpoint=/orders', 'api_key/endpoint=/orders'])
  })

  it('is in shadow or quota mode when the tiered rule is', () => {
    const descriptors = [{ ...FILE.descriptors?.[0], key: 'api_key', shadow_mode: true, quota_mode: true }]
    const [rule] = match(compile({ descriptors }), entriesOf('api_key=k'), 'pro')
    expect(rule).toMatchObject({ name: 'pro', shadow: true, quota: true })
  })

  it('counts among the rules once for each rule that it stands in for', () => {
    const tiered = { key: 'a', tiered: true }
    const file = { domain: 'd', tiers: { free: { rate_limit: limit('free', 1) } } }
    const countOf = (...keys: string[]): number =>
      compileObjects([{ ...file, descriptors: keys.map((key) => ({ ...tiered, key })) }]).ruleCount
    expect([countOf(), countOf('a'), countOf('a', 'b')]).toEqual([0, 1, 2])
  })
})

describe('an account', () => {
  const own = (count: number) => compileLimit({ limit: count, window: '1m' })
  /** An own limit for all rules of a level: one object, as records have it. */
  const owned = (limit: Limit): OwnLimit => ({ id: 'o', limit, namesRule: false, mayAdd: false })
  const account = (tier: string | undefined, limits: Record<string, number> = {}): Account => {
    const owns = Object.fromEntries(Object.entries(limits).map(([path, count]) => [path, owned(own(count))]))
    return { tier, hasLimits: true, ownLimit: (_, below) => owns[below] }
  }
  const lookupOf =
    (found: Account | undefined): AccountLookup =>
    (domain, entry) =>
      domain === 'platform' && entry.key === 'api_key' && entry.value === 'k' ? found : undefined

  /** Lists the limits that apply: `name:count`. */
  function limitsOf(domain: Domain, entries: string, found: Account | undefined, tier?: string): string {
    const rules = match(domain, entriesOf(entries), tier, lookupOf(found))
    return rules.map(({ name, limit, unlimited }) => `${name}:${unlimited ? 'unlimited' : limit.max}`).join(' ')
  }

  const ORDERS = 'api_key=k endpoint=/orders'

  it.each<[claim: string, entries: string, found: Account | undefined, tier: string | undefined, expected: string]>([
    ['none: the rule applies', 'api_key=k', undefined, undefined, 'own:60'],
    ['its tier picks the set', 'api_key=k', account('pro'), undefined, 'pro:1000'],
    ['an entry goes before its tier', 'api_key=k', account('pro'), 'free', 'free:100 free-hour:1000'],
    ['an entry that names no tier leaves the rule', 'api_key=k', account('pro'), 'unheard-of', 'own:60'],
    ['without a tier: the rule applies', 'api_key=k', account(undefined), undefined, 'own:60'],
    ['another caller has none', 'api_key=other', account('pro'), undefined, 'own:60'],
    ['its own limit goes before its tier', 'api_key=k', account('pro', { '': 7 }), undefined, 'pro:7'],
    ['and before the entry', 'api_key=k', account('pro', { '': 7 }), 'free', 'free:7'],
    ['and before the rule', 'api_key=k', account(undefined, { '': 7 }), undefined, 'own:7'],
    ['and before no limit at all', 'api_key=k', account('enterprise', { '': 7 }), undefined, 'enterprise:7'],
    ['one limit in place of several', 'api_key=k', account('free', { '': 7 }), undefined, 'free:7'],
    ['below, too', ORDERS, account('pro', { 'endpoint=/orders': 3 }), undefined, 'pro-orders:3'],
    ['below, where the tier is silent', ORDERS, account('free', { 'endpoint=/orders': 3 }), undefined, 'own-orders:3'],
    ['only where it says something', ORDERS, account('pro', { '': 7 }), undefined, 'pro-orders:200'],
    ['not for another value', ORDERS, account('pro', { 'endpoint=/other': 3 }), undefined, 'pro-orders:200'],
    ['where no rule is', 'api_key=k a=1 b=2', account('pro', { 'a=1/b=2': 3 }), undefined, 'api_key/a=1/b=2:3'],
  ])('%s', (_, entries, found, tier, expected) => {
    expect(limitsOf(leaf, entries, found, tier)).toBe(expected)
  })

  it('has its own limits on the way, too', () => {
    const found = account('pro', { '': 7, 'endpoint=/orders': 3 })
    expect(limitsOf(path, ORDERS, found)).toBe('pro:7 pro-orders:3')
    expect(limitsOf(path, ORDERS, account('pro', { '': 7 }))).toBe('pro:7 pro-orders:200')
    expect(limitsOf(path, ORDERS, account('free', { 'endpoint=/orders': 3 }))).toBe(
      'free:100 free-hour:1000 own-orders:3',
    )
  })

  it('counts on the counters of the rules that its limits stand in for', () => {
    const found = account('pro', { '': 7, 'endpoint=/orders': 3, 'endpoint=/other': 4 })
    const idsOf = (entries: string, lookup?: AccountLookup): string[] =>
      match(leaf, entriesOf(entries), undefined, lookup).map(({ id }) => id)
    expect(idsOf('api_key=k', lookupOf(found))).toEqual(['api_key'])
    for (const entries of [ORDERS, 'api_key=k endpoint=/other']) {
      expect(idsOf(entries, lookupOf(found))).toEqual(idsOf(entries))
    }
  })

  it('never formats a secret, below the tiered rule or where no rule is', () => {
    const found = account('pro', { 'token=t': 1, 'endpoint=/x/token=t': 1 })
    const [below] = match(leaf, entriesOf('api_key=k token=t'), undefined, lookupOf(found))
    expect([below.id, below.path.map(({ secret }) => secret)]).toEqual(['api_key/token', [false, true]])
    const [apart] = match(leaf, entriesOf('api_key=k endpoint=/x token=t'), undefined, lookupOf(found))
    expect(apart.path.map(({ secret }) => secret)).toEqual([false, false, true])
  })

  it('has the same rules for every request, even when its limits are compiled again for each', () => {
    const found = account('pro', { '': 7, 'endpoint=/orders': 3, 'a=1/b=2': 4 })
    for (const entries of ['api_key=k', ORDERS, 'api_key=k a=1 b=2']) {
      const rulesOf = (): readonly Rule[] => match(leaf, entriesOf(entries), undefined, lookupOf(found))
      expect(rulesOf()).toBe(rulesOf())
      expect(rulesOf()[0]).toSatisfy(Object.isFrozen)
    }
  })

  const minute = { limit: 7, window: '1m' } as const
  const daily = { limit: 7, algorithm: 'fixed_window', calendar: { unit: 'day' } } as const
  /** Two limits for each option, which differ in that alone. */
  const DIFFERENCES: Readonly<Record<keyof LimitOptions, [before: LimitOptions, after: LimitOptions]>> = {
    limit: [minute, { ...minute, limit: 8 }],
    window: [minute, { ...minute, window: '2m' }],
    algorithm: [minute, { ...minute, algorithm: 'gcra' }],
    burst: [
      { ...minute, algorithm: 'gcra', burst: 1 },
      { ...minute, algorithm: 'gcra', burst: 2 },
    ],
    subWindows: [minute, { ...minute, subWindows: 6 }],
    calendar: [daily, { ...daily, calendar: { unit: 'day', timeZone: 'Europe/Berlin' } }],
    anchor: [
      { ...minute, algorithm: 'fixed_window' },
      { ...minute, algorithm: 'fixed_window', anchor: 'first_hit' },
    ],
    leaseTtl: [
      { limit: 7, algorithm: 'concurrency' },
      { limit: 7, algorithm: 'concurrency', leaseTtl: '5s' },
    ],
    countDenied: [minute, { ...minute, countDenied: true }],
  }

  it.each(Object.entries(DIFFERENCES))('has other rules from the request on that finds another %s', (_, pair) => {
    const [before, after] = pair
    let options = before
    const limitOf = (): Limit => {
      const lookup = lookupOf({ tier: 'pro', hasLimits: true, ownLimit: () => owned(compileLimit(options)) })
      return match(leaf, entriesOf('api_key=k'), undefined, lookup)[0].limit
    }
    const first = limitOf()
    options = after
    const second = limitOf()
    expect([describeLimit(first), describeLimit(second)]).toEqual(
      [before, after].map((o) => describeLimit(compileLimit(o))),
    )
    expect(limitOf()).toBe(second)
    options = before
    expect(describeLimit(limitOf())).toBe(describeLimit(first))
  })

  it('has the rules of its tier when it has no limit any more', () => {
    let limits: Record<string, number> = { '': 7 }
    const found = (): string => limitsOf(leaf, 'api_key=k', account('pro', limits))
    expect(found()).toBe('pro:7')
    limits = {}
    expect(found()).toBe('pro:1000')
  })

  it('does not take the rules of another caller, tier or path for its own', () => {
    const lookup: AccountLookup = (_, { value }) => ({
      tier: value.startsWith('f') ? 'free' : 'pro',
      hasLimits: true,
      ownLimit: (_, below) => owned(own(value.length + 100 * below.length)),
    })
    const found = (entries: string): string =>
      match(leaf, entriesOf(entries), undefined, lookup)
        .map(({ id, name, limit }) => `${id} ${name} ${limit.max}`)
        .join()
    for (let i = 0; i < 2; i++) {
      expect(found('api_key=k')).toBe('api_key pro 1')
      expect(found('api_key=kk')).toBe('api_key pro 2')
      expect(found('api_key=f')).toBe('api_key free 1')
      expect(found('api_key=k a=1')).toBe('api_key/a=1 api_key/a=1 301')
      expect(match(leaf, [{ key: 'api_key', value: 'k/a=1' }], undefined, lookup)[0].limit.max).toBe(5)
    }
  })

  it('does not take one value that is encoded like several entries for them', () => {
    const lookup: AccountLookup = () => ({ tier: 'pro', hasLimits: true, ownLimit: () => owned(own(1)) })
    const depthOf = (...rest: Entry[]): number =>
      match(leaf, [{ key: 'api_key', value: 'k' }, ...rest], undefined, lookup)[0].path.length
    for (let i = 0; i < 2; i++) {
      expect(depthOf({ key: 'a', value: '1' }, { key: 'b', value: '2' })).toBe(3)
      expect(depthOf({ key: 'a', value: '1/b=2' })).toBe(2)
    }
  })
})
