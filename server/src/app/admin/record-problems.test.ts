import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import { bookOf, customer, ofCustomer, override, tier } from '../../quotas/book/records.suite.ts'
import { RecordCheck } from './record-problems.ts'

const limit = (requests_per_unit: number, unit = 'minute') => ({ unit, requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: limit(1) } },
    descriptors: [{ key: 'api_key', tiered: true, rate_limit: limit(2) }],
  },
  { domain: 'flat', descriptors: [{ key: 'user', rate_limit: limit(2) }] },
  { domain: 'plain', descriptors: [{ key: 'customer', rate_limit: limit(2) }] },
  { domain: 'fixed', descriptors: [{ key: 'customer', tiered: false, rate_limit: limit(2) }] },
])
const { book } = bookOf({ customers: [customer('acme'), customer('mars', { timeZone: 'Mars/Olympus' })] })
const check = new RecordCheck({ rules: () => RULES, book: () => book, entries: CALLER_ENTRIES })

describe('what is wrong with a stored tier', () => {
  it.each<[claim: string, domain: string, limits: unknown, problem: RegExp | undefined]>([
    ['nothing', 'api', { rate_limit: limit(5) }, undefined],
    ['a unit that there is not', 'api', { rate_limit: limit(5, 'fortnight') }, /unit/],
    ['no limits at all', 'api', 'nothing', /tiers/],
    ['a domain that no rules define', 'gone', { rate_limit: limit(5) }, /^no rules define the domain "gone"$/],
    ['nothing, without tiers in the rules', 'plain', { rate_limit: limit(5) }, undefined],
    [
      'rules that no caller reaches',
      'flat',
      { rate_limit: limit(5) },
      /"flat" is reached by an API key or a customer$/,
    ],
    ['rules that no tier changes', 'fixed', { rate_limit: limit(5) }, /"fixed" is reached by/],
  ])('is told: %s', (_, domain, limits, problem) => {
    const told = check.ofTier(tier(domain, 'gold', limits))
    if (problem === undefined) expect(told).toBeUndefined()
    else expect(told).toMatch(problem)
  })
})

describe('what is wrong with an override', () => {
  it.each<[claim: string, changes: Parameters<typeof override>[3], who: string, problem: RegExp | undefined]>([
    ['nothing', {}, 'acme', undefined],
    ['an algorithm that there is not', { algorithm: 'guess' }, 'acme', /algorithm/],
    ['a calendar in a time zone that there is not', { algorithm: 'calendar', unit: 'month' }, 'mars', /Mars/],
  ])('is told: %s', (_, changes, who, problem) => {
    const told = check.ofOverride(override('o', ofCustomer(who), 5, changes))
    if (problem === undefined) expect(told).toBeUndefined()
    else expect(told).toMatch(problem)
  })
})
