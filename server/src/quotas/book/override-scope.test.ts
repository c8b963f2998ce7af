import { compileObjects } from 'sluice/internal/core/rules/compile'
import { explain, sourceText } from 'sluice/internal/core/rules/explain'
import { match } from 'sluice/internal/core/rules/match'
import type { Domain } from 'sluice/internal/core/rules/rule-set'
import { describe, expect, it } from 'vitest'
import type { Override } from '../model.ts'
import { bookOf, customer, entriesOf, key, ofCustomer, ofKey, override } from './records.suite.ts'

const limit = (requests_per_unit: number, unit = 'minute') => ({ unit, requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'shop',
    descriptors: [
      {
        key: 'customer',
        rate_limits: [limit(600), { name: 'per hour', ...limit(9_000, 'hour') }],
        descriptors: [{ key: 'path', value: '/a', rate_limit: limit(60) }],
      },
      { key: 'banned', descriptors: [{ key: 'customer', rate_limit: { name: 'ban', ...limit(0) } }] },
    ],
  },
  { domain: 'llm', descriptors: [{ key: 'customer', rate_limit: limit(500) }] },
  {
    domain: 'kinds',
    descriptors: ['customer', 'api_key'].map((key) => ({
      key,
      rate_limits: [
        { ...limit(1), algorithm: 'fixed_window' as const },
        { ...limit(2), name: 'bucket', algorithm: 'token_bucket' as const },
      ],
    })),
  },
])
const domainOf = (name: string): Domain => RULES.domains.get(name) as Domain

/** Returns what applies to a request: of each rule, how many and per what. */
function limits(overrides: readonly Override[], domain: string, text: string): string[] {
  const { book } = bookOf({ customers: [customer('acme')], api_keys: [key('k1', 'acme')], overrides })
  const rules = match(domainOf(domain), entriesOf(text), undefined, book.accounts, book.tiers)
  return rules.map((rule) => `${rule.name} ${rule.limit.max}/${rule.limit.windowMs / 60_000}`)
}

const ACME = ofCustomer('acme')
const hourly = (id: string, count: number, scope: Partial<Override> = {}) =>
  override(id, ACME, count, { unit: 'hour', ...scope })

describe('an override', () => {
  const perHour = hourly('o', 700, { domain: 'shop', rule: 'per hour' })

  it('for one rule of a domain leaves every other rule as it is', () => {
    expect(limits([perHour], 'shop', 'customer=acme')).toEqual(['customer 600/1', 'per hour 700/60'])
    expect(limits([perHour], 'llm', 'customer=acme')).toEqual(['customer 500/1'])
  })

  it('for one domain leaves the others as they are, and adds a limit where no rule stands', () => {
    const wide = hourly('o', 700, { domain: 'shop' })
    expect(limits([wide], 'shop', 'customer=acme')).toEqual(['customer 700/60'])
    expect(limits([wide], 'llm', 'customer=acme')).toEqual(['customer 500/1'])
    const added = hourly('o', 7, { domain: 'shop', descriptor: 'path:/b' })
    expect(limits([added], 'shop', 'customer=acme path=/b')).toEqual(['customer/path=/b 7/60'])
    expect(limits([{ ...added, domain: undefined }], 'shop', 'customer=acme path=/b')).toEqual([])
    expect(limits([{ ...added, rule: 'customer/path=/b' }], 'shop', 'customer=acme path=/b')).toEqual([])
  })

  it('without either is for every rule of every domain', () => {
    expect(limits([hourly('o', 700)], 'shop', 'customer=acme')).toEqual(['customer 700/60'])
    expect(limits([hourly('o', 700)], 'llm', 'customer=acme')).toEqual(['customer 700/60'])
  })

  it('for less goes before one for more, whichever took effect last', () => {
    const wide = hourly('a', 1, { effectiveAtMs: 3 })
    const inShop = hourly('b', 2, { effectiveAtMs: 2, domain: 'shop' })
    const all = [wide, inShop, { ...perHour, effectiveAtMs: 1 }]
    expect(limits(all, 'shop', 'customer=acme')).toEqual(['customer 2/60', 'per hour 700/60'])
    expect(limits([...all].reverse(), 'shop', 'customer=acme')).toEqual(['customer 2/60', 'per hour 700/60'])
    expect(limits(all, 'llm', 'customer=acme')).toEqual(['customer 1/60'])
  })

  it('counts as the rule that it is for, for every caller', () => {
    const overrides = [ACME, ofKey('k1')].map((who, i) =>
      override(`o${i}`, who, 5, { domain: 'kinds', rule: 'bucket' }),
    )
    const { book } = bookOf({ customers: [customer('acme')], api_keys: [key('k1', undefined)], overrides })
    for (const text of ['customer=acme', 'api_key=k1-secret']) {
      const rules = match(domainOf('kinds'), entriesOf(text), undefined, book.accounts, book.tiers)
      expect(rules.map(({ limit: { algorithm, max } }) => [algorithm, max])).toEqual([
        ['fixed_window', 1],
        ['token_bucket', 5],
      ])
    }
  })

  it('that names a ban lifts it, and one that does not leaves it alone', () => {
    const banned = 'banned=x customer=acme'
    expect(limits([hourly('o', 5)], 'shop', banned)).toEqual(['ban 0/1'])
    expect(limits([hourly('o', 5, { domain: 'shop' })], 'shop', banned)).toEqual(['ban 0/1'])
    expect(limits([hourly('o', 5, { domain: 'shop', rule: 'ban' })], 'shop', banned)).toEqual(['ban 5/60'])
  })

  it('names what it is for when it is listed', () => {
    const { book } = bookOf({
      customers: [customer('acme')],
      api_keys: [key('key1', 'acme')],
      overrides: [perHour, override('k', ofKey('key1'), 5, { domain: 'llm' })],
    })
    expect(book.ownerOf('k')?.sourceOf({ id: 'k' } as never)).toBe('override k of key key1…, for domain llm')
    const { sources } = explain(domainOf('shop'), entriesOf('customer=acme'), undefined, book.accounts, book.tiers)
    expect(sources.map((source) => sourceText(source))).toEqual([
      'rule',
      'override o of customer acme, for rule per hour of domain shop',
    ])
  })
})
