import { describe, expect, it } from 'vitest'
import type { LimitState } from '../../../api/operations.ts'
import {
  budgetOf,
  burstOf,
  entriesOf,
  forText,
  fullest,
  groupLimits,
  isExhausted,
  rateText,
  scopeFields,
  scopesOf,
  titleOf,
} from './limits.ts'

const limit = (changes: Partial<LimitState> = {}): LimitState => ({
  ...{ descriptor: 'default', above: '', domain: 'shop', rule_id: 'api_key', rule_name: 'api_key' },
  ...{ is_pattern: false, source: { kind: 'tier', id: 'pro' }, time_zone: null },
  ...{ limit: 600, used: 10, remaining: 590, window_ms: 60_000, unit: 'minute' },
  ...{ window_start: '2026-01-01T00:00:00Z', resets_at: '2026-01-01T00:01:00Z' },
  ...{ api_key_id: 'k1', api_key_prefix: 'sk_live', is_use_known: true },
  ...changes,
})
const ofCustomer = (changes: Partial<LimitState> = {}): LimitState =>
  limit({ api_key_id: null, api_key_prefix: null, rule_id: 'customer', ...changes })

describe('groupLimits', () => {
  it('shows the customer first, then extra budget, then each key by its name', () => {
    const grant = ofCustomer({ source: { kind: 'grant', id: 'g' }, rule_id: 'grant', domain: '' })
    const other = limit({ api_key_id: 'k2', api_key_prefix: 'sk_test' })
    const keys = [{ id: 'k1', name: 'production' }].map((key) => ({
      ...{ prefix: 'sk_live', customer_id: 'acme', tier: null, version: 1, created_at: '', revoked_at: null },
      ...key,
    }))
    const groups = groupLimits([limit(), other, grant, ofCustomer()], keys)
    expect(groups.map(({ kind, title }) => [kind, title])).toEqual([
      ['customer', 'The customer as a whole'],
      ['grants', 'Extra budget'],
      ['key', 'Key sk_live… · production'],
      ['key', 'Key sk_test…'],
    ])
  })

  it('keeps the order in which the server lists the limits of a key', () => {
    const [first, second] = [limit({ used: 1 }), limit({ descriptor: 'endpoint:GET /', used: 600, remaining: 0 })]
    expect(groupLimits([first, second], [])[0]?.limits).toEqual([first, second])
  })
})

describe('what a limit says', () => {
  it('a bucket has a budget of its burst', () => {
    expect(budgetOf(limit({ limit: 50, used: 20, remaining: 180 }))).toBe(200)
  })

  it('only a limit whose use is known is exhausted, and no grant is', () => {
    expect(isExhausted(limit({ remaining: 0 }))).toBe(true)
    expect(isExhausted(limit({ remaining: 1 }))).toBe(false)
    expect(isExhausted(limit({ remaining: 0, is_use_known: false }))).toBe(false)
    expect(isExhausted(limit({ remaining: 0, source: { kind: 'grant', id: 'g' } }))).toBe(false)
  })

  it.each([
    [600, 'minute', 60_000, '600 a minute'],
    [7, 'hour', 3_600_000, '7 an hour'],
    [3, null, 90_000, '3 in 1.5 min'],
  ] as const)('%i by %s is %s', (count, unit, windowMs, text) => {
    expect(rateText(count, unit, windowMs)).toBe(text)
  })

  it('the plain limit counts every request', () => {
    expect(titleOf({ descriptor: 'default' })).toBe('Every request')
    expect(titleOf({ descriptor: 'endpoint:GET /' })).toBe('endpoint:GET /')
  })

  it.each([
    ['', 'month', 'month: any value'],
    ['', 'path:/v1/*', 'path:/v1/*'],
    ['', 'month/day', 'month=*/day=*'],
    ['', 'month=2026-11/day', 'month=2026-11/day=*'],
    ['region', 'default', 'region: any value · Every request'],
  ])('a pattern before %j and below %j is %s', (above, descriptor, title) => {
    expect(titleOf({ above, descriptor, is_pattern: true })).toBe(title)
  })

  it('what stands before the customer is named first', () => {
    expect(titleOf({ above: 'plan=gold', descriptor: 'month:2026-11' })).toBe('plan=gold · month:2026-11')
  })
})

describe('what a raise is for', () => {
  const of = (domain: string, rule_id: string, more: Partial<LimitState> = {}) => limit({ domain, rule_id, ...more })
  const raised = of('shop', 'api_key')

  it('is the limit that was chosen, and more only where there is more', () => {
    const below = of('shop', 'api_key/path=/a', { descriptor: 'path:/a' })
    const granted = of('shop', 'grant', { source: { kind: 'grant', id: 'g1' } })
    const sameOfOtherKey = of('shop', 'api_key', { api_key_id: 'k2' })
    expect(scopesOf([raised, below, granted, sameOfOtherKey], raised)).toEqual(['rule'])
    expect(scopesOf([raised, of('llm', 'api_key')], raised)).toEqual(['rule', 'all'])
    expect(scopesOf([raised, of('shop', 'customer')], raised)).toEqual(['rule', 'domain', 'all'])
  })

  it('is named in the request, and all of them only where that is said', () => {
    expect(scopeFields('rule', raised)).toEqual({ domain: 'shop', rule: 'api_key' })
    expect(scopeFields('domain', raised)).toEqual({ domain: 'shop' })
    expect(scopeFields('all', raised)).toEqual({ all: true })
  })

  it('is described for an override', () => {
    expect([
      forText({ domain: null, rule: null }),
      forText({ domain: 'shop', rule: null }),
      forText({ domain: 'shop', rule: 'api_key' }),
    ]).toEqual(['every rule', 'every rule of shop', 'shop/api_key'])
  })
})

it('the limit that is raised first is the fullest; without use, the first', () => {
  const [first, half, unknown] = [
    limit({ used: 0 }),
    limit({ used: 300, remaining: 300 }),
    limit({ is_use_known: false }),
  ]
  expect(fullest([first, half, unknown])).toBe(half)
  expect(fullest([first, unknown])).toBe(first)
  expect(fullest([])).toBeUndefined()
})

describe('burstOf', () => {
  it('a bucket that is raised keeps the share of its burst', () => {
    expect(burstOf(limit({ limit: 50, used: 20, remaining: 180 }), 100)).toEqual({ burst: 400 })
  })

  it('a limit without a burst, and one whose use is not known, gets none', () => {
    expect(burstOf(limit(), 1_200)).toEqual({})
    expect(burstOf(limit({ limit: 50, used: 0, remaining: 200, is_use_known: false }), 100)).toEqual({})
  })
})

describe('entriesOf', () => {
  it.each([
    ['customer', '', 'default', 'customer=acme'],
    ['customer#2', '', 'default', 'customer=acme'],
    ['plan=gold/customer', 'plan=gold', 'default', 'plan=gold customer=acme'],
    ['region/customer', 'region=eu', 'default', 'region=eu customer=acme'],
    ['customer/month', '', 'month:2026-11', 'customer=acme month=2026-11'],
    ['customer/endpoint=POST /api', '', 'endpoint:POST /api', 'customer=acme endpoint=POST /api'],
    ['customer/region=eu/endpoint=GET /a', '', 'region=eu/endpoint=GET /a', 'customer=acme region=eu endpoint=GET /a'],
  ])('the rule %s behind %j with %s is reached by its entries', (rule_id, above, descriptor, entries) => {
    const found = entriesOf(ofCustomer({ rule_id, above, descriptor }), 'acme')
    expect(found?.map(({ key, value }) => `${key}=${value}`).join(' ')).toBe(entries)
  })

  it('the counter of a key, a grant, a pattern, and a rule of another form have none', () => {
    expect(entriesOf(limit(), 'acme')).toBeUndefined()
    expect(entriesOf(ofCustomer({ source: { kind: 'grant', id: 'g' } }), 'acme')).toBeUndefined()
    expect(
      entriesOf(ofCustomer({ rule_id: 'customer/month', descriptor: 'month', is_pattern: true }), 'acme'),
    ).toBeUndefined()
    expect(entriesOf(ofCustomer({ rule_id: 'customer=acme' }), 'acme')).toBeUndefined()
  })
})
