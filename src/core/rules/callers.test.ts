import { describe, expect, it } from 'vitest'
import { compileLimit } from '../limit.ts'
import type { Account, AccountLookup, OwnLimit, TierLookup } from './account.ts'
import { compileObjects } from './compile.ts'
import { compileTier } from './compile-tier.ts'
import { match } from './match.ts'
import type { Domain, Rule } from './rule-set.ts'
import type { DescriptorRule, RuleFile } from './schema.ts'

const limit = (requests_per_unit: number) => ({ unit: 'hour', requests_per_unit }) as const
const entriesOf = (text: string) =>
  text.split(' ').map((part) => ({ key: part.split('=')[0], value: part.split('=').slice(1).join('=') }))

/** Own limits by the path below the caller, or by `rule ID`. A leading + makes one for its domain, which may add a level. */
type Owns = Readonly<Record<string, number>>

function accountOf(owns: Owns, tier?: string): Account {
  const made = new Map(
    Object.entries(owns).map(([name, count]): [string, OwnLimit] => {
      const path = name.replace('+', '')
      const own = { id: name, limit: compileLimit({ limit: count, window: '1h' }) }
      return [path, { ...own, namesRule: name.startsWith('rule '), mayAdd: name.startsWith('+') }]
    }),
  )
  return {
    tier,
    hasLimits: made.size > 0,
    ownLimit: (_, path, rules, at) => made.get(`rule ${rules[at]?.id}`) ?? made.get(path),
  }
}

const compile = (descriptors: DescriptorRule[], rest: Partial<RuleFile> = {}): Domain =>
  compileObjects([{ domain: 'd', ...rest, descriptors }]).domains.get('d') as Domain

/** Lists the limits that apply, `id:count`, for callers that are known by `key=value`. */
function decide(domain: Domain, text: string, callers: Readonly<Record<string, Account>>, tiers?: TierLookup): string {
  const lookup: AccountLookup = (_, { key, value }) => callers[`${key}=${value}`]
  return match(domain, entriesOf(text), undefined, lookup, tiers).map(shown).join(' ')
}
const shown = ({ id, limit: { max }, unlimited }: Rule): string => `${id}:${unlimited ? 'unlimited' : max}`

const stored =
  (limits: object): TierLookup =>
  (domain, pattern, name) =>
    compileTier(domain, pattern, { name, limits, where: 'tiers' })

describe('a rule that an API key or a customer leads to', () => {
  const plain = compile([{ key: 'api_key', rate_limit: limit(2) }])

  it('has the own limit of its caller, without tiered and without tiers', () => {
    const callers = { 'api_key=abc123': accountOf({ '': 50 }) }
    expect(decide(plain, 'api_key=abc123', callers)).toBe('api_key:50')
    expect(decide(plain, 'api_key=other', callers)).toBe('api_key:2')
  })

  it('has a tier of the database, and not one of its file', () => {
    const domain = compile([{ key: 'api_key', rate_limit: limit(2) }], { tiers: { pro: { rate_limit: limit(7) } } })
    const callers = { 'api_key=k': accountOf({}, 'pro') }
    expect(decide(domain, 'api_key=k', callers)).toBe('api_key:2')
    expect(decide(domain, 'api_key=k', callers, stored({ rate_limit: limit(9) }))).toBe('api_key:9')
  })

  it('stays as it is with tiered: false, and so does all below it', () => {
    const domain = compile([
      { key: 'api_key', tiered: false, rate_limit: limit(2), descriptors: [{ key: 'path', rate_limit: limit(3) }] },
    ])
    const callers = { 'api_key=k': accountOf({ '': 50, 'path=/a': 60, '+path=/a x=1': 70 }, 'pro') }
    const tiers = stored({ rate_limit: limit(9), descriptors: [{ key: 'path', rate_limit: limit(9) }] })
    expect(decide(domain, 'api_key=k', callers, tiers)).toBe('api_key:2')
    expect(decide(domain, 'api_key=k path=/a', callers, tiers)).toBe('api_key/path:3')
    expect(decide(domain, 'api_key=k path=/a x=1', callers, tiers)).toBe('')
  })

  it('stays as it is where a level below says tiered: false, also below tiered: true', () => {
    for (const tiered of [undefined, true]) {
      const below = [{ key: 'path', value: '/login', tiered: false, rate_limit: limit(3) }]
      const domain = compile([{ key: 'api_key', rate_limit: limit(2), ...(tiered && { tiered }), descriptors: below }])
      const callers = { 'api_key=k': accountOf({ '': 50, 'path=/login': 60 }, 'pro') }
      const tiers = stored({ descriptors: [{ key: 'path', rate_limit: limit(9) }] })
      expect(decide(domain, 'api_key=k', callers, tiers)).toBe('api_key:50')
      expect(decide(domain, 'api_key=k path=/login', callers, tiers)).toBe('api_key/path=/login:3')
    }
  })

  it('may be tiered again below tiered: false', () => {
    const domain = compile([
      {
        key: 'customer',
        tiered: false,
        rate_limit: limit(2),
        descriptors: [{ key: 'api_key', tiered: true, rate_limit: limit(3) }],
      },
    ])
    const callers = { 'customer=acme': accountOf({ '': 50 }, 'pro'), 'api_key=k': accountOf({ '': 60 }) }
    expect(decide(domain, 'customer=acme', callers)).toBe('customer:2')
    expect(decide(domain, 'customer=acme api_key=k', callers)).toBe('customer/api_key:60')
  })

  it('is found below any pattern, by an exact value, a wildcard and an address block', () => {
    const domain = compile([
      { key: 'mode', value: 'live', descriptors: [{ key: 'api_key', value: 'k*', rate_limit: limit(2) }] },
      { key: 'ip', cidr: '10.0.0.0/8', descriptors: [{ key: 'api_key', value: 'k', rate_limit: limit(3) }] },
      { key: 'api_key', value: 'k', rate_limit: limit(4) },
    ])
    const callers = { 'api_key=k': accountOf({ '': 50 }) }
    expect(decide(domain, 'mode=live api_key=k', callers)).toBe('mode=live/api_key=k*:50')
    expect(decide(domain, 'ip=10.1.1.1 api_key=k', callers)).toBe('ip=10.0.0.0/8/api_key=k:50')
    expect(decide(domain, 'api_key=k', callers)).toBe('api_key=k:50')
  })

  it('counts below it as well as on the way, with evaluate: path', () => {
    const domain = compile(
      [{ key: 'customer', rate_limit: limit(2), descriptors: [{ key: 'month', rate_limit: limit(3) }] }],
      { evaluate: 'path' },
    )
    const callers = { 'customer=acme': accountOf({ '': 50, 'rule customer/month': 60 }) }
    expect(decide(domain, 'customer=acme month=may', callers)).toBe('customer:50 customer/month:60')
  })
})

describe('limits that are left alone', () => {
  it('are not added to an entry without one, unless it is tiered', () => {
    const below = { descriptors: [{ key: 'month', rate_limit: limit(3) }] }
    const callers = { 'customer=acme': accountOf({ '': 50 }, 'pro') }
    const tiers = stored({ rate_limit: limit(9) })
    expect(decide(compile([{ key: 'customer', ...below }]), 'customer=acme', callers, tiers)).toBe('')
    expect(decide(compile([{ key: 'customer', tiered: true, ...below }]), 'customer=acme', callers, tiers)).toBe(
      'customer:50',
    )
  })

  it('are added to a level that no rule is about only for a named domain, unless it is tiered', () => {
    const domain = compile([{ key: 'customer', rate_limit: limit(2) }])
    const tiered = compile([{ key: 'customer', tiered: true, rate_limit: limit(2) }])
    const [anywhere, here] = [{ 'path=/a': 50 }, { '+path=/a': 50 }].map((owns) => ({
      'customer=acme': accountOf(owns),
    }))
    expect(decide(domain, 'customer=acme path=/a', anywhere)).toBe('')
    expect(decide(domain, 'customer=acme path=/a', here)).toBe('customer/path=/a:50')
    expect(decide(tiered, 'customer=acme path=/a', anywhere)).toBe('customer/path=/a:50')
  })

  it('are a ban and places that are held, unless they are named or tiered', () => {
    const places = { algorithm: 'concurrency', requests_per_unit: 5 } as const
    for (const rate of [limit(0), places]) {
      const domain = compile([{ key: 'api_key', rate_limits: [limit(2), rate] }])
      const max = rate.requests_per_unit
      const own = (owns: Owns) => decide(domain, 'api_key=k', { 'api_key=k': accountOf(owns, 'pro') })
      expect(own({ '': 50 })).toBe(`api_key:50 api_key#2:${max}`)
      expect(own({ 'rule api_key#2': 50 })).toBe('api_key:2 api_key#2:50')
      const tier = stored({ rate_limit: limit(9) })
      expect(decide(domain, 'api_key=k', { 'api_key=k': accountOf({}, 'pro') }, tier)).toBe(
        `api_key:9 api_key#2:${max}`,
      )
      const tiered = compile([{ key: 'api_key', tiered: true, rate_limits: [limit(2), rate] }])
      expect(decide(tiered, 'api_key=k', { 'api_key=k': accountOf({ '': 50 }) })).toBe('api_key:50')
    }
  })

  it('are the others of a level, where one is named; one limit for the level is in place of all of them', () => {
    const domain = compile([{ key: 'api_key', rate_limits: [limit(2), { ...limit(20), unit: 'day' }] }])
    const own = (owns: Owns) => decide(domain, 'api_key=k', { 'api_key=k': accountOf(owns) })
    expect(own({ 'rule api_key#2': 50 })).toBe('api_key:2 api_key#2:50')
    expect(own({ 'rule api_key': 50 })).toBe('api_key:50 api_key#2:20')
    expect(own({ '': 50 })).toBe('api_key:50')
    expect(own({ '': 50, 'rule api_key': 60 })).toBe('api_key:60 api_key#2:50')
  })

  it('are not those without a bound: an individual one has one', () => {
    const domain = compile([{ key: 'api_key', rate_limit: { unlimited: true } }])
    expect(decide(domain, 'api_key=k', { 'api_key=k': accountOf({ '': 50 }) })).toBe('api_key:50')
  })
})

describe('two callers in one descriptor', () => {
  const domain = compile([
    { key: 'customer', rate_limit: limit(100), descriptors: [{ key: 'api_key', rate_limit: limit(10) }] },
  ])
  const both = 'customer=acme api_key=k'

  it('each have their limits at their entry; below, the nearest caller’s come first', () => {
    const acme = accountOf({ '': 500, 'api_key=k': 70 })
    expect(decide(domain, 'customer=acme', { 'customer=acme': acme })).toBe('customer:500')
    expect(decide(domain, both, { 'customer=acme': acme })).toBe('customer/api_key:70')
    expect(decide(domain, both, { 'customer=acme': acme, 'api_key=k': accountOf({ '': 50 }) })).toBe(
      'customer/api_key:50',
    )
    expect(decide(domain, both, { 'customer=acme': acme, 'api_key=k': accountOf({ 'path=/x': 5 }) })).toBe(
      'customer/api_key:70',
    )
  })

  it('have one tier: that of the first that has one', () => {
    const tiers: TierLookup = (of, pattern, name) =>
      name === 'gold' || name === 'key'
        ? stored({ rate_limit: limit(name === 'gold' ? 900 : 90) })(of, pattern, name)
        : undefined
    const [gold, key, unknown] = ['gold', 'key', 'none'].map((tier) => accountOf({}, tier))
    expect(decide(domain, both, { 'customer=acme': gold, 'api_key=k': key }, tiers)).toBe('customer/api_key:10')
    expect(decide(domain, both, { 'customer=acme': unknown, 'api_key=k': key }, tiers)).toBe('customer/api_key:90')
  })

  it('never have an API key in the id of a limit that is added', () => {
    const callers = { 'customer=acme': accountOf({}), 'api_key=sk_secret': accountOf({ '+path=/a': 5 }) }
    expect(decide(domain, 'customer=acme api_key=sk_secret path=/a', callers)).toBe('customer/api_key/path=/a:5')
  })
})

describe('a counter that callers share', () => {
  it('is not that of an own limit', () => {
    const domain = compile([{ key: 'customer', value: 'trial-*', share_threshold: true, rate_limit: limit(10) }])
    const lookup: AccountLookup = (_, { value }) => (value === 'trial-7' ? accountOf({ '': 50 }) : undefined)
    const stepOf = (value: string) => match(domain, [{ key: 'customer', value }], undefined, lookup)[0].path[0]
    expect(stepOf('trial-1')).toMatchObject({ sharedAs: 'trial-*' })
    expect(stepOf('trial-7')).toMatchObject({ sharedAs: undefined, isOpen: true })
  })
})

describe('a caller without a record', () => {
  it('is decided by the very rules that are there', () => {
    const domain = compile(
      [{ key: 'customer', rate_limit: limit(1), descriptors: [{ key: 'api_key', rate_limit: limit(2) }] }],
      { evaluate: 'path' },
    )
    const entries = entriesOf('customer=acme api_key=k')
    expect(match(domain, entries, undefined, () => undefined, stored({ rate_limit: limit(9) }))).toEqual(
      match(domain, entries),
    )
  })
})
