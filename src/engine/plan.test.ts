import { describe, expect, it } from 'vitest'
import { KeyedHash } from '../core/hash.ts'
import { KeyEncoder } from '../core/key-encoder.ts'
import type { Descriptor, Entry } from '../core/request.ts'
import { compileObjects } from '../core/rules/compile.ts'
import type { DescriptorRule, RateLimitRule, RuleFile } from '../core/rules/schema.ts'
import type { PlannedCharge } from './charge.ts'
import { Planner } from './plan.ts'

const limit = (name: string, changes: RateLimitRule = {}): RateLimitRule => ({
  name,
  unit: 'minute',
  requests_per_unit: 100,
  ...changes,
})

const entriesOf = (text: string): Entry[] =>
  text.split(', ').map((part) => ({ key: part.split('=')[0], value: part.split('=')[1] }))

/** Plans one request against rules of the domain `d`; descriptors are written `key=value, key=value`. */
function planFor(
  file: Partial<RuleFile>,
  descriptors: (string | Descriptor)[],
  cost?: number,
): readonly PlannedCharge[] {
  const planner = new Planner(new KeyEncoder(new KeyedHash(1, 2)))
  const rules = compileObjects([{ domain: 'd', ...file }])
  return planner.plan(rules, {
    domain: 'd',
    descriptors: descriptors.map((each) => (typeof each === 'string' ? { entries: entriesOf(each) } : each)),
    ...(cost !== undefined && { cost }),
  })
}

const costs = (charges: readonly PlannedCharge[]): string[] => charges.map(({ rule, cost }) => `${rule.name} ${cost}`)

describe('the cost of a charge', () => {
  const WEIGHTS = { by: 'method', weights: { GET: 1, POST: 5, HEAD: 0, name: 7, constructor: 3 }, default: 2 }
  const rules: DescriptorRule[] = [
    {
      key: 'user',
      rate_limits: [limit('plain'), limit('double', { cost: 2 }), limit('free', { cost: 0 })],
      descriptors: [{ key: 'method', rate_limit: limit('weighed', { cost: WEIGHTS }) }],
    },
    { key: 'method', rate_limit: limit('usual', { cost: { by: 'method', weights: { POST: 5 } } }) },
    { key: 'huge', rate_limit: limit('huge', { cost: 4_294_967_295 }) },
  ]

  it.each<[descriptor: string, cost: number | undefined, expected: string[]]>([
    ['user=a', undefined, ['plain 1', 'double 2', 'free 0']],
    ['user=a', 3, ['plain 3', 'double 6', 'free 0']],
    ['user=a', 0, ['plain 0', 'double 0', 'free 0']],
    ['user=a', -2, ['plain -2', 'double -4', 'free 0']],
    ['user=a, method=GET', undefined, ['weighed 1']],
    ['user=a, method=POST', undefined, ['weighed 5']],
    ['user=a, method=POST', 3, ['weighed 15']],
    ['user=a, method=POST', -1, ['weighed -5']],
    ['user=a, method=POST', 0, ['weighed 0']],
    ['user=a, method=HEAD', 9, ['weighed 0']],
    ['user=a, method=PUT', undefined, ['weighed 2']],
    ['user=a, method=post', undefined, ['weighed 2']],
    ['user=a, method=', undefined, ['weighed 2']],
    ['user=a, method=name', undefined, ['weighed 7']],
    ['user=a, method=constructor', undefined, ['weighed 3']],
    ['user=a, method=__proto__', undefined, ['weighed 2']],
    ['user=a, method=toString', undefined, ['weighed 2']],
    ['method=POST', undefined, ['usual 5']],
    ['method=PUT', 4, ['usual 4']],
    ['huge=a', 4_294_967_295, ['huge 8589934592']],
    ['huge=a', -4_294_967_295, ['huge -4294967295']],
  ])('of %s at %s is %j', (descriptor, cost, expected) => {
    // Adding 0 turns the -0 of a refund of nothing into 0.
    const charges = planFor({ descriptors: rules }, [descriptor], cost).map((each) => ({
      ...each,
      cost: each.cost + 0,
    }))
    expect(costs(charges)).toEqual(expected)
  })

  it('is that of the descriptor, where it has one', () => {
    const own: Descriptor = { entries: entriesOf('user=a'), cost: 10 }
    const look: Descriptor = { entries: entriesOf('method=POST'), cost: 0 }
    expect(costs(planFor({ descriptors: rules }, [own, look, 'method=POST'], 3))).toEqual([
      'plain 10',
      'double 20',
      'free 0',
      'usual 0',
      'usual 15',
    ])
  })

  it('weighs by any entry of the descriptor, in front, below or the tier', () => {
    const by = (key: string, weights: Record<string, number>) => limit(`by ${key}`, { cost: { by: key, weights } })
    const descriptors: DescriptorRule[] = [
      {
        key: 'plan',
        descriptors: [
          {
            key: 'user',
            rate_limits: [
              by('plan', { gold: 2 }),
              by('path', { '/export': 9 }),
              by('tier', { pro: 4 }),
              by('none', { x: 5 }),
            ],
            descriptors: [{ key: 'path', rate_limit: limit('path') }],
          },
        ],
      },
    ]
    const file: Partial<RuleFile> = { evaluate: 'path', tiers: { pro: {} }, descriptors }
    expect(costs(planFor(file, ['plan=gold, tier=pro, user=a, path=/export']))).toEqual([
      'by plan 2',
      'by path 9',
      'by tier 4',
      'by none 1',
      'path 1',
    ])
  })

  it('is refused when it is none, for the request or a descriptor', () => {
    const message = 'COST_INVALID: cost: got 1.5. A cost must be a whole number from -4294967295 to 4294967295.'
    const bad: Descriptor = { entries: entriesOf('user=a'), cost: 1.5 }
    expect(() => planFor({ descriptors: rules }, ['user=a'], 1.5)).toThrow(expect.objectContaining({ message }))
    expect(() => planFor({ descriptors: rules }, [bad])).toThrow(expect.objectContaining({ message }))
  })
})

describe('the entry tier', () => {
  const descriptors: DescriptorRule[] = [
    { key: 'user', rate_limit: limit('user'), descriptors: [{ key: 'tier', rate_limit: limit('user and tier') }] },
    { key: 'tier', rate_limit: limit('tier alone') },
  ]
  const tiers = { pro: { rate_limit: limit('pro') } }
  const names = (file: Partial<RuleFile>, descriptor: string): string[] =>
    planFor(file, [descriptor]).map(({ rule }) => rule.name)

  it.each<[descriptor: string, without: string[], withTiers: string[]]>([
    ['user=a', ['user'], ['user']],
    ['user=a, tier=pro', ['user and tier'], ['pro']],
    ['tier=pro, user=a', [], ['pro']],
    ['user=a, tier=unheard-of', ['user and tier'], ['user']],
    ['tier=pro', ['tier alone'], []],
    ['user=a, tier=pro, tier=free', [], ['pro']],
  ])(
    'of %s is matched in a domain without tiers: %j; elsewhere it picks a set: %j',
    (descriptor, without, withTiers) => {
      expect(names({ descriptors }, descriptor)).toEqual(without)
      const [user, tier] = descriptors
      expect(names({ tiers, descriptors: [{ ...user, tiered: true }, tier] }, descriptor)).toEqual(withTiers)
    },
  )

  it('is not part of the counter, so that what was used stays when the tier changes', () => {
    const file = { tiers: { pro: tiers.pro, free: tiers.pro }, descriptors: [{ ...descriptors[0], tiered: true }] }
    const keys = ['user=a', 'user=a, tier=pro', 'tier=free, user=a'].map((each) => planFor(file, [each])[0].key)
    expect(keys).toEqual(['d|user|user=a', 'd|user|user=a', 'd|user|user=a'])
  })
})

describe('the key of a charge', () => {
  it('never holds a secret, even for a limit that the request brings along', () => {
    const descriptors: DescriptorRule[] = [
      { key: 'user', descriptors: [{ key: 'api_key', secret: true, enabled: false, rate_limit: limit('key') }] },
    ]
    const own = { requestsPerUnit: 5, unit: 'minute' } as const
    const plan = (text: string) => planFor({ descriptors }, [{ entries: entriesOf(text), limit: own }])[0].key
    expect(plan('user=a')).toBe('d|/override|user=a')
    expect(plan('user=a, api_key=hush')).toMatch(/^d\|\/override\|user=a\|api_key=~[0-9a-f]{16}$/)
    expect(plan('api_key=hush')).toMatch(/^d\|\/override\|api_key=~[0-9a-f]{16}$/)
  })

  it('holds every entry, and no secret, when another descriptor brought the same limit along before', () => {
    const descriptors: DescriptorRule[] = [{ key: 'api_key', secret: true, rate_limit: limit('key') }]
    const planner = new Planner(new KeyEncoder(new KeyedHash(1, 2)), undefined)
    const rules = compileObjects([{ domain: 'd', descriptors }])
    const own = { requestsPerUnit: 5, unit: 'minute' } as const
    const key = (text: string): string =>
      planner.plan(rules, { domain: 'd', descriptors: [{ entries: entriesOf(text), limit: own }] })[0].key
    const SECRET = '~[0-9a-f]{16}'
    for (let round = 0; round < 2; round++) {
      expect(key('user=a')).toBe('d|/override|user=a')
      expect(key('user=a, path=/')).toBe('d|/override|user=a|path=/')
      expect(key('api_key=hush')).toMatch(new RegExp(`^d\\|/override\\|api_key=${SECRET}$`))
      expect(key('api_key=hush, user=a')).toMatch(new RegExp(`^d\\|/override\\|api_key=${SECRET}\\|user=a$`))
      expect(key('user=a, api_key=hush')).toMatch(new RegExp(`^d\\|/override\\|user=a\\|api_key=${SECRET}$`))
    }
  })

  it('of a rule on the way holds the entries up to there', () => {
    const descriptors = [{ key: 'a', rate_limit: limit('a'), descriptors: [{ key: 'b', rate_limit: limit('b') }] }]
    expect(planFor({ evaluate: 'path', descriptors }, ['a=1, b=2']).map(({ key }) => key)).toEqual([
      'd|a|a=1',
      'd|a/b|a=1|b=2',
    ])
  })

  it('charges a rule on the way of several descriptors once, at the highest cost among them', () => {
    const descriptors = [{ key: 'a', rate_limit: limit('a'), descriptors: [{ key: 'b', rate_limit: limit('b') }] }]
    const file: Partial<RuleFile> = { evaluate: 'path', descriptors }
    expect(planFor(file, ['a=1', 'a=1, b=2', 'a=1, c=3']).map(({ key, cost }) => [key, cost])).toEqual([
      ['d|a|a=1', 1],
      ['d|a/b|a=1|b=2', 1],
    ])
    const of = (...given: readonly number[]) => given.map((cost) => ({ entries: entriesOf('a=1'), cost }))
    expect(costs(planFor(file, of(2, 5, 3)))).toEqual(['a 5'])
    expect(costs(planFor(file, of(-2, -5)))).toEqual(['a -5'])
  })

  it('says where it comes from, and how it binds', () => {
    const descriptors: DescriptorRule[] = [
      { key: 'a', shadow_mode: true, rate_limit: limit('a') },
      { key: 'b', quota_mode: true, rate_limits: [limit('b'), limit('c')] },
    ]
    const charges = planFor({ descriptors }, ['b=1', 'x=1', 'a=1'])
    expect(charges.map(({ rule, descriptor, enforce, quota }) => [rule.name, descriptor, enforce, quota])).toEqual([
      ['b', 0, true, true],
      ['c', 0, true, true],
      ['a', 2, false, false],
    ])
  })
})

describe('rules in quota mode', () => {
  const descriptors: DescriptorRule[] = [
    { key: 'a', quota_mode: true, rate_limit: limit('a') },
    { key: 'b', quota_mode: true, shadow_mode: true, rate_limit: limit('b') },
    { key: 'c', rate_limit: limit('c') },
  ]
  const forces = (...texts: string[]): boolean[] => planFor({ descriptors }, texts).map(({ enforce }) => enforce)

  it('stop nothing together with one that only reports', () => {
    expect(forces('a=1', 'b=1', 'c=1')).toEqual([false, false, true])
    expect(forces('a=1', 'c=1')).toEqual([true, true])
  })
})

describe('a planner that charges every rule for itself', () => {
  const file: RuleFile = {
    domain: 'd',
    descriptors: [
      { key: 'user', rate_limit: limit('user') },
      { key: 'path', rate_limit: limit('path') },
      { key: 'jobs', rate_limit: { requests_per_unit: 2, algorithm: 'concurrency' } },
    ],
  }
  const planner = new Planner(new KeyEncoder(new KeyedHash(1, 2)), { apart: true })
  const forces = (...texts: string[]): boolean[] =>
    planner
      .plan(compileObjects([file]), { domain: 'd', descriptors: texts.map((text) => ({ entries: entriesOf(text) })) })
      .map(({ enforce }) => enforce)

  it('lets none of them stop another', () => {
    expect(forces('user=a', 'path=/')).toEqual([false, false])
  })

  it('does so only where no place is held', () => {
    expect(forces('user=a', 'jobs=1')).toEqual([true, true])
  })
})

describe('a limit of a request that counts with the rules', () => {
  const file: RuleFile = {
    domain: 'd',
    descriptors: [
      { key: 'user', rate_limit: { unit: 'minute', requests_per_unit: 2, algorithm: 'fixed_window' } },
      {
        key: 'path',
        value: '/v1*',
        share_threshold: true,
        rate_limit: { unit: 'minute', requests_per_unit: 2, algorithm: 'fixed_window' },
      },
    ],
  }
  const overrides = { limit: { algorithm: 'fixed_window', countDenied: true }, sharesCounters: true } as const
  const planner = new Planner(new KeyEncoder(new KeyedHash(1, 2)), { overrides })
  const keyOf = (text: string, unit: 'minute' | 'hour'): string =>
    planner.plan(compileObjects([file]), {
      domain: 'd',
      descriptors: [{ entries: entriesOf(text), limit: { requestsPerUnit: 9, unit } }],
    })[0].key

  it('has the counter of the rule that it stands in for', () => {
    expect(keyOf('user=a', 'minute')).toBe('d|user|user=a')
  })

  it('has a separate one where the window is another, or callers share the counter', () => {
    expect(keyOf('user=a', 'hour')).toBe('d|/override|user=a')
    expect(keyOf('path=/v1/x', 'minute')).toBe('d|/override|path=/v1/x')
    expect(keyOf('new=a', 'minute')).toBe('d|/override|new=a')
  })

  it('counts as configured', () => {
    const [{ limit: counted }] = planner.plan(compileObjects([file]), {
      domain: 'd',
      descriptors: [{ entries: entriesOf('user=a'), limit: { requestsPerUnit: 9, unit: 'minute' } }],
    })
    expect(counted).toMatchObject({ max: 9, algorithm: 'fixed_window', countDenied: true })
  })
})

describe('a rule that another one replaces', () => {
  const descriptors: DescriptorRule[] = [
    { key: 'user', rate_limit: limit('user') },
    { key: 'vip', rate_limit: limit('vip', { replaces: [{ name: 'user' }, { name: 'path' }] }) },
    { key: 'path', rate_limit: limit('path') },
  ]
  const names = (...texts: string[]): string[] => planFor({ descriptors }, texts).map(({ rule }) => rule.name)

  it('is left out of a request that both match, in whatever order', () => {
    expect(names('user=a', 'vip=a')).toEqual(['vip'])
    expect(names('path=/', 'vip=a', 'user=a')).toEqual(['vip'])
  })

  it('stays where the other does not match', () => {
    expect(names('user=a', 'path=/')).toEqual(['user', 'path'])
  })
})

describe('limits that requests bring along', () => {
  const planner = new Planner(new KeyEncoder(new KeyedHash(1, 2)), undefined)
  const rules = compileObjects([{ domain: 'd' }])
  const ruleOf = (requestsPerUnit: number) => {
    const own = { requestsPerUnit, unit: 'minute' } as const
    return planner.plan(rules, { domain: 'd', descriptors: [{ entries: entriesOf('user=a'), limit: own }] })[0].rule
  }

  it('are compiled once, and forgotten when there are more than 10,000 of them', () => {
    const first = ruleOf(1)
    expect(ruleOf(1)).toBe(first)
    for (let i = 2; i <= 10_001; i++) ruleOf(i)
    expect(ruleOf(1)).not.toBe(first)
    expect(ruleOf(1)).toEqual(first)
  })

  it('differ by unit, multiplier and count', () => {
    const limitOf = (own: Descriptor['limit']) =>
      planner.plan(rules, {
        domain: 'd',
        descriptors: [{ entries: entriesOf('user=a'), ...(own && { limit: own }) }],
      })[0].limit
    expect(limitOf({ requestsPerUnit: 5, unit: 'minute' })).toMatchObject({ max: 5, windowMs: 60_000 })
    expect(limitOf({ requestsPerUnit: 5, unit: 'hour' })).toMatchObject({ max: 5, windowMs: 3_600_000 })
    expect(limitOf({ requestsPerUnit: 5, unit: 'minute', unitMultiplier: 3 })).toMatchObject({ windowMs: 180_000 })
    expect(limitOf({ requestsPerUnit: 6, unit: 'minute' })).toMatchObject({ max: 6, windowMs: 60_000 })
  })
})
