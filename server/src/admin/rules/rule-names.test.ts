import { compileObjects } from 'sluice/internal/core/rules/compile'
import { expect, it } from 'vitest'
import { ruleNames } from './rule-names.ts'

const rate = (name?: string) => ({ unit: 'day', requests_per_unit: 1, ...(name !== undefined && { name }) }) as const

const RULES = compileObjects([
  {
    domain: 'shop',
    tiers: {
      pro: {
        rate_limit: rate('pro calls'),
        descriptors: [{ key: 'path', value: '/pro', rate_limit: rate('exports') }],
      },
    },
    descriptors: [
      { key: 'customer', rate_limits: [rate('calls'), rate('daily')] },
      { key: 'api_key', tiered: true, rate_limit: rate('key calls') },
      { key: 'tenant', tiered: true, rate_limit: rate() },
      { key: 'ip', cidr: ['10.0.0.0/8'], rate_limit: rate('office') },
      { key: 'path', value: '/v1/*', descriptors: [{ key: 'user', rate_limit: rate('users') }] },
      { key: 'plain', rate_limit: rate() },
    ],
  },
])

it.each([
  ['customer', 'calls'],
  ['customer#2', 'daily'],
  ['api_key', 'key calls'],
  ['tenant', 'pro calls'],
  ['api_key/path=/pro', 'exports'],
  ['ip=10.0.0.0/8', 'office'],
  ['path=/v1/*/user', 'users'],
  ['plain', 'plain'],
  ['blocked', 'blocked'],
])('the rule %s is called %s', (id, name) => {
  expect(ruleNames(RULES)('shop', id)).toBe(name)
  expect(ruleNames(RULES)('other', id)).toBe(id)
})
