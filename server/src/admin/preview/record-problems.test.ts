import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import { CALLER_ENTRIES } from '../../quotas/book/caller-entries.ts'
import { bookOf, customer, ofCustomer, override, tier } from '../../quotas/book/records.suite.ts'
import { RecordCheck } from './record-problems.ts'

const limit = (requests_per_unit: number, unit = 'minute') => ({ unit, requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: { name: 'by tier', ...limit(1) } } },
    descriptors: [{ key: 'api_key', tiered: true, rate_limit: limit(2) }],
  },
  { domain: 'flat', descriptors: [{ key: 'user', rate_limits: [limit(2), { name: 'named', ...limit(3) }] }] },
  { domain: 'log', descriptors: [{ key: 'customer', rate_limit: { ...limit(2), algorithm: 'sliding_log' } }] },
  { domain: 'plain', descriptors: [{ key: 'customer', rate_limit: limit(2) }] },
  { domain: 'fixed', descriptors: [{ key: 'customer', tiered: false, rate_limit: limit(2) }] },
])
const STORED = {
  rate_limit: { name: 'stored', ...limit(1) },
  descriptors: [{ key: 'path', value: '/a', rate_limit: limit(1) }],
}
const { book } = bookOf({
  customers: [customer('acme'), customer('mars', { timeZone: 'Mars/Olympus' })],
  tiers: [tier('api', 'wrong', 'nothing'), tier('api', 'gold', STORED)],
})
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
  ])('is reported: %s', (_, domain, limits, problem) => {
    const found = check.ofTier(tier(domain, 'gold', limits))
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(problem)
  })
})

describe('what is wrong with an override', () => {
  it.each<[claim: string, changes: Parameters<typeof override>[3], who: string, problem: RegExp | undefined]>([
    ['nothing', {}, 'acme', undefined],
    ['an algorithm that there is not', { algorithm: 'guess' }, 'acme', /algorithm/],
    ['a domain that no rules define', { domain: 'gone' }, 'acme', /^no rules define the domain "gone"$/],
    ['a rule that the domain does not have', { domain: 'flat', rule: 'ip' }, 'acme', /"flat" has no rule .* "ip"$/],
    ['nothing, with a rule of the domain', { domain: 'flat', rule: 'user' }, 'acme', undefined],
    ['nothing, with its name', { domain: 'flat', rule: 'named' }, 'acme', undefined],
    ['nothing, with a rule of a tier', { domain: 'api', rule: 'by tier' }, 'acme', undefined],
    ['nothing, with a rule of a stored tier', { domain: 'api', rule: 'stored' }, 'acme', undefined],
    ['nothing, with a rule below a stored tier', { domain: 'api', rule: 'api_key/path=/a' }, 'acme', undefined],
    ['a stored tier of another domain', { domain: 'flat', rule: 'stored' }, 'acme', /"flat" has no rule/],
    ['more than a log counts', { requestsPerUnit: 20_000 }, 'acme', /20000/],
    ['nothing where the log is another domain', { requestsPerUnit: 20_000, domain: 'plain' }, 'acme', undefined],
    ['a calendar in a time zone that there is not', { algorithm: 'calendar', unit: 'month' }, 'mars', /Mars/],
  ])('is reported: %s', (_, changes, who, problem) => {
    const found = check.ofOverride(override('o', ofCustomer(who), 5, changes))
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(problem)
  })
})
