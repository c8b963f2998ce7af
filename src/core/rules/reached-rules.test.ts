import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileLimit } from '../limit.ts'
import type { Entry } from '../request.ts'
import type { Account, AccountLookup, OwnLimit, TierLookup } from './account.ts'
import { compileObjects } from './compile.ts'
import { compileTier } from './compile-tier.ts'
import { match } from './match.ts'
import { type ReachedInput, type ReachedRule, reachedRules } from './reached-rules.ts'
import type { Domain, Rule } from './rule-set.ts'
import type { DescriptorRule, RuleFile } from './schema.ts'

const limit = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit }) as const
const compile = (file: Omit<RuleFile, 'domain'>): Domain =>
  compileObjects([{ domain: 'd', ...file }]).domains.get('d') as Domain

/** Has a limit for each path; a rule's id before the path is for that rule alone. */
function accountOf(tier: string | undefined, limits: Readonly<Record<string, number>>): Account {
  const owns = new Map(
    Object.entries(limits).map(([path, count]): [string, OwnLimit] => {
      const own = { id: path, limit: compileLimit({ limit: count, window: '1m' }) }
      return [path, { ...own, namesRule: path.startsWith('rule '), mayAdd: count % 2 === 1 }]
    }),
  )
  return {
    tier,
    hasLimits: owns.size > 0,
    ownLimit: (_, path, rules, at) => owns.get(`rule ${rules[at]?.id}`) ?? owns.get(path),
    sourceOf: ({ id }) => `own ${id}`,
  }
}

const textOf = (rule: Rule | undefined): string =>
  rule === undefined ? 'none' : rule.unlimited ? 'unlimited' : String(rule.limit.max)
const shown = ({ id, before, after }: ReachedRule): string => `${id}: ${textOf(before?.rule)} → ${textOf(after?.rule)}`

const ACME = { value: 'acme', before: undefined, after: undefined }
const input = (domain: Domain, changes: Partial<ReachedInput>): ReachedInput => ({
  domain,
  callers: new Map([['customer', ACME]]),
  tiersBefore: undefined,
  tiersAfter: undefined,
  ...changes,
})

describe('the rules that a caller reaches', () => {
  const domain = compile({
    descriptors: [
      { key: 'ip', rate_limit: limit(1) },
      {
        key: 'customer',
        rate_limit: limit(10),
        descriptors: [
          { key: 'month', rate_limit: limit(20) },
          { key: 'path', value: '/a*', rate_limit: limit(30) },
          { key: 'path', value: '/login', tiered: false, rate_limit: limit(5) },
        ],
      },
      { key: 'customer', value: 'other', rate_limit: limit(11) },
      { key: 'route', descriptors: [{ key: 'customer', rate_limit: limit(40) }] },
      { key: 'net', cidr: ['10.0.0.0/8'], descriptors: [{ key: 'customer', rate_limit: limit(50) }] },
      { key: 'secret', secret: true, descriptors: [{ key: 'api_key', secret: true, rate_limit: limit(60) }] },
    ],
  })

  it('are those at and below the entry, whatever stands before it, with what a change makes of them', () => {
    const after = accountOf(undefined, {
      '': 100,
      'path=/login': 200,
      'path=/a/b': 300,
      'path=/zz': 401,
      'path=/none': 402,
    })
    const paths = [
      [{ key: 'path', value: '/login' }],
      [{ key: 'path', value: '/a/b' }],
      [{ key: 'path', value: '/zz' }],
    ]
    const { rules, isComplete } = reachedRules(
      input(domain, { callers: new Map([['customer', { ...ACME, after }]]), paths }),
    )
    expect(isComplete).toBe(true)
    expect(rules.map(shown).sort()).toEqual([
      'customer/month: 20 → 20',
      'customer/path=/a*: 30 → 30',
      'customer/path=/a*: 30 → 300',
      'customer/path=/login: 5 → 5',
      'customer/path=/zz: none → 401',
      'customer: 10 → 100',
      'net=10.0.0.0/8/customer/path=/zz: none → 401',
      'net=10.0.0.0/8/customer: 50 → 100',
      'route/customer/path=/zz: none → 401',
      'route/customer: 40 → 100',
    ])
  })

  it('are one counter where every value is known, and many where one is open', () => {
    const { rules } = reachedRules(input(domain, {}))
    expect(rules.filter(({ isExact }) => isExact).map(({ id }) => id)).toEqual(['customer', 'customer/path=/login'])
  })

  it('say where each number comes from', () => {
    const tier: TierLookup = (of, pattern, name) =>
      compileTier(of, pattern, { name, limits: { rate_limit: limit(7) }, where: 'tiers' })
    const before = accountOf('pro', {})
    const callers = new Map([['customer', { ...ACME, before, after: accountOf('pro', { '': 8 }) }]])
    const { rules } = reachedRules(input(domain, { callers, tiersBefore: tier, tiersAfter: tier }))
    expect(rules[0]).toMatchObject({
      id: 'customer',
      before: { source: { kind: 'tier', name: 'pro', isStored: true } },
      after: { source: { kind: 'account', id: '', text: 'own ' } },
    })
  })

  it('of a tier that requests name, are the rules at and below `tiered: true`, for every caller', () => {
    const tiered = compile({
      tiers: { pro: { rate_limit: limit(100), descriptors: [{ key: 'path', value: '/a', rate_limit: limit(70) }] } },
      descriptors: [
        { key: 'user', tiered: true, rate_limit: limit(10) },
        { key: 'zone', descriptors: [{ key: 'team', tiered: true, rate_limit: limit(20) }] },
        { key: 'ip', rate_limit: limit(1) },
      ],
    })
    const idsOf = (tier: string | undefined) =>
      reachedRules(input(tiered, { callers: new Map(), ...(tier !== undefined && { tier }) })).rules.map(shown)
    expect(idsOf('pro')).toEqual([
      'user: 100 → 100',
      'user/path=/a: 70 → 70',
      'zone/team: 100 → 100',
      'zone/team/path=/a: 70 → 70',
    ])
    expect(idsOf('other')).toEqual(['user: 10 → 10', 'zone/team: 20 → 20'])
    expect(idsOf(undefined)).toEqual([])
  })

  it('of a key that is kept as a hash, are the rules of any key, and of its value', () => {
    const keys = compile({
      descriptors: [
        { key: 'api_key', rate_limit: limit(1) },
        { key: 'api_key', value: 'k1', rate_limit: limit(2) },
        { key: 'api_key', value: 'k2', rate_limit: limit(3) },
        { key: 'api_key', value: 'trial-*', rate_limit: limit(4) },
      ],
    })
    const idsFor = (isValue: (value: string) => boolean): string[] => {
      const caller = { value: undefined, isValue, before: undefined, after: undefined }
      return reachedRules(input(keys, { callers: new Map([['api_key', caller]]) })).rules.map(({ id }) => id)
    }
    expect(idsFor(() => false)).toEqual(['api_key=trial-*', 'api_key'])
    expect(idsFor((value) => value === 'k2')).toEqual(['api_key=k2'])
  })

  it('stop at a bound, and say so', () => {
    const descriptors = Array.from({ length: 50 }, (_, i) => ({ key: 'path', value: `/${i}`, rate_limit: limit(1) }))
    const many = compile({ descriptors: [{ key: 'customer', descriptors }] })
    const { rules, isComplete } = reachedRules(input(many, { maxPlaces: 10 }))
    expect([rules.length, isComplete]).toEqual([9, false])
  })

  it('leave out patterns that no value leads to', () => {
    const shadowed = compile({
      descriptors: [
        {
          key: 'customer',
          descriptors: [
            { key: 'path', value: '*', rate_limit: limit(1) },
            { key: 'path', value: '/a*', rate_limit: limit(2) },
            { key: 'path', rate_limit: limit(3) },
          ],
        },
      ],
    })
    expect(reachedRules(input(shadowed, {})).rules.map(({ id }) => id)).toEqual(['customer/path=*'])
  })
})

describe('an enumeration', () => {
  const KEYS = ['customer', 'api_key', 'path', 'net'] as const
  const VALUES: Readonly<Record<string, readonly string[]>> = {
    customer: ['acme', 'beta'],
    api_key: ['k', 'other'],
    path: ['/', '/a', '/a/b', '/b'],
    net: ['10.0.0.1', '10.1.0.1', '192.168.0.1'],
  }
  const PATTERNS: Readonly<Record<string, readonly object[]>> = {
    customer: [{}, { value: 'acme' }, { value: 'a*' }, { value: 'b*', share_threshold: true }],
    api_key: [{}, { value: 'k' }, { value: 'k*', share_threshold: true }],
    path: [{}, { value: '/a' }, { value: '/a*' }, { value: '*b' }],
    net: [{}, { cidr: ['10.0.0.0/8'] }, { cidr: ['10.1.0.0/16', '192.168.0.0/16'] }],
  }
  const rate = fc.constantFrom<object>(
    { unit: 'minute', requests_per_unit: 10 },
    { unit: 'minute', requests_per_unit: 20 },
    { unit: 'minute', requests_per_unit: 0 },
    { unlimited: true },
    { algorithm: 'concurrency', requests_per_unit: 5 },
  )
  const limits = fc.oneof(
    fc.constant({}),
    rate.map((rate_limit) => ({ rate_limit })),
    fc.tuple(rate, rate).map((rate_limits) => ({ rate_limits })),
  )

  /** Draws descriptors of different patterns. Below a level, keys may come again. */
  const levels = (depth: number, within: boolean): fc.Arbitrary<DescriptorRule[]> =>
    fc
      .uniqueArray(
        fc
          .constantFrom(...KEYS)
          .chain((key) => fc.constantFrom(...PATTERNS[key]).map((pattern) => ({ key, ...pattern }))),
        { maxLength: 4, selector: (each) => JSON.stringify(each) },
      )
      .chain((patterns) =>
        fc.tuple(
          ...patterns.map((pattern) =>
            fc
              .record({
                limits,
                tiered: fc.constantFrom(undefined, undefined, undefined, false, ...(within ? [] : [true])),
              })
              .chain(({ limits: own, tiered }) =>
                (depth === 0 ? fc.constant<DescriptorRule[]>([]) : levels(depth - 1, within || tiered === true)).map(
                  (descriptors): DescriptorRule => ({
                    ...(pattern as DescriptorRule),
                    ...own,
                    ...(tiered !== undefined && { tiered }),
                    descriptors,
                  }),
                ),
              ),
          ),
        ),
      )

  const PATHS = ['', 'path=/a', 'path=/zz', 'api_key=k', 'customer=acme', 'net=10.0.0.1', 'api_key=k/path=/a']
  const RULES = ['customer', 'api_key', 'customer/path', 'api_key#2', 'customer=acme', 'path/customer']
  const account = fc.record({
    tier: fc.constantFrom(undefined, 'free', 'pro'),
    limits: fc.dictionary(
      fc.oneof(
        fc.constantFrom(...PATHS),
        fc.constantFrom(...RULES).map((id) => `rule ${id}`),
      ),
      fc.integer({ min: 100, max: 999 }),
      { maxKeys: 3 },
    ),
  })

  const stored = fc.option(
    fc.record({ root: limits, descriptors: levels(0, true) }).map(({ root, descriptors }) => {
      return { ...root, descriptors: descriptors.map(({ tiered: _, ...rest }) => rest) }
    }),
    { nil: undefined },
  )
  /** Has one tier, whose nodes are made once for each pattern. */
  const tiersOf = (text: object | undefined): TierLookup | undefined => {
    const known = new WeakMap()
    if (text === undefined) return undefined
    return (domain, pattern, name) => {
      if (name !== 'pro') return undefined
      const node = known.get(pattern) ?? compileTier(domain, pattern, { name, limits: text, where: 'tiers' })
      known.set(pattern, node)
      return node
    }
  }
  const file = fc
    .record({
      evaluate: fc.constantFrom('leaf' as const, 'path' as const),
      free: limits,
      descriptors: levels(2, false),
    })
    .map(({ evaluate, free, descriptors }) => ({ evaluate, tiers: { free }, descriptors }))
  const request = fc.array(
    fc.constantFrom(...KEYS).chain((key) => fc.constantFrom(...VALUES[key]).map((value): Entry => ({ key, value }))),
    { minLength: 1, maxLength: 3 },
  )

  const pathEntries = PATHS.filter((path) => path !== '').map((path) =>
    path.split(/\/(?=[a-z_]+=)/).map((level) => ({ key: level.split('=')[0], value: level.split('=')[1] })),
  )

  // A caller's limit stands in for the second rule alone: no tier was known where `tiered: true` is.
  const BAN_BELOW_TIERS = {
    evaluate: 'leaf' as const,
    tiers: { free: {} },
    descriptors: [
      {
        key: 'path',
        tiered: true,
        descriptors: [
          {
            key: 'api_key',
            rate_limits: [
              { unit: 'minute' as const, requests_per_unit: 0 },
              { unit: 'minute' as const, requests_per_unit: 10 },
            ],
          },
        ],
      },
    ],
  }
  const NO_ONE = { tier: undefined, limits: {} }
  const HUNDRED = { tier: undefined, limits: { '': 100 } }
  const ON_A_PATH = [
    { key: 'path', value: '/' },
    { key: 'api_key', value: 'k' },
  ]

  it('has for every request the rule that decides it, before and after, whatever the rules and the records are', () => {
    fc.assert(
      fc.property(
        file,
        fc.array(account, { minLength: 4, maxLength: 4 }),
        fc.tuple(stored, stored),
        fc.array(request, { minLength: 5, maxLength: 20 }),
        (rulesFile, accounts, texts, requests) => {
          const domain = compile(rulesFile)
          const [tiersBefore, tiersAfter] = texts.map(tiersOf)
          const [c1, c2, k1, k2] = accounts.map(({ tier, limits: own }) => accountOf(tier, own))
          const callers = new Map([
            ['customer', { value: 'acme', before: c1, after: c2 }],
            ['api_key', { value: 'k', before: k1, after: k2 }],
          ])
          const { rules, isComplete } = reachedRules({ domain, callers, tiersBefore, tiersAfter, paths: pathEntries })
          expect(isComplete).toBe(true)
          const known = new Set(rules.map(keyOf))
          for (const entries of requests) {
            // What others carry is not this caller's.
            if (entries.some(({ key, value }) => callers.get(key) !== undefined && callers.get(key)?.value !== value)) {
              continue
            }
            if (!entries.some(({ key }) => callers.has(key))) continue
            const at = (which: 'before' | 'after', tiers: TierLookup | undefined): readonly Rule[] => {
              const lookup: AccountLookup = (_, { key }) => callers.get(key)?.[which]
              return match(domain, entries, undefined, lookup, tiers).filter(
                ({ path }) => path.length === entries.length,
              )
            }
            const [before, after] = [at('before', tiersBefore), at('after', tiersAfter)]
            for (const id of new Set([...before, ...after].map((rule) => rule.id))) {
              const expected = [id, ...[before, after].map((list) => textOf(list.find((rule) => rule.id === id)))]
              expect(known, JSON.stringify(entries)).toContain(expected.join(' '))
            }
          }
        },
      ),
      {
        numRuns: 100,
        examples: [[BAN_BELOW_TIERS, [NO_ONE, NO_ONE, HUNDRED, NO_ONE], [undefined, undefined], [ON_A_PATH]]],
      },
    )
  })
})

const keyOf = ({ id, before, after }: ReachedRule): string => [id, textOf(before?.rule), textOf(after?.rule)].join(' ')
