import { describe, expect, it } from 'vitest'
import { compileObjects } from './compile.ts'
import { describeRule, describeRules } from './describe.ts'
import type { Rule } from './rule-set.ts'
import type { DescriptorRule, RateLimitRule } from './schema.ts'

function ruleOf(rate_limit: RateLimitRule, changes: Partial<DescriptorRule> = {}): Rule {
  const rules = compileObjects([{ domain: 'd', descriptors: [{ key: 'k', rate_limit, ...changes }] }])
  return rules.domains.get('d')?.root.branches.get('k')?.any?.rules[0] as Rule
}

const FIVE: RateLimitRule = { unit: 'minute', requests_per_unit: 5 }

describe('describeRule', () => {
  it.each<[RateLimitRule, string]>([
    [FIVE, '5 per 1m, sliding_window'],
    [{ unlimited: true }, 'unlimited'],
    [{ window: '90s', requests_per_unit: 0 }, '0 per 90s, sliding_window'],
    [{ unit: 'month', requests_per_unit: 5 }, '5 per 30d, sliding_window'],
    [{ unit: 'year', requests_per_unit: 5 }, '5 per 365d, sliding_window'],
    [{ ...FIVE, sub_windows: 6 }, '5 per 1m, sliding_window, sub-windows of 10s'],
    [{ ...FIVE, algorithm: 'fixed_window', anchor: 'first_hit' }, '5 per 1m, fixed_window, from the first hit on'],
    [{ ...FIVE, count_denied: true }, '5 per 1m, sliding_window, refused ones count'],
    [{ ...FIVE, algorithm: 'token_bucket' }, '5 per 1m, token_bucket'],
    [{ ...FIVE, algorithm: 'gcra', burst: 9 }, '5 per 1m, gcra, burst 9'],
    [{ ...FIVE, algorithm: 'sliding_log' }, '5 per 1m, sliding_log'],
    [
      { requests_per_unit: 5, algorithm: 'fixed_window', calendar: { unit: 'month', time_zone: 'Europe/Berlin' } },
      '5 per calendar month (Europe/Berlin), fixed_window',
    ],
    [{ requests_per_unit: 5, algorithm: 'concurrency' }, '5 concurrent, leases of 1m'],
    [{ ...FIVE, cost: 3 }, '5 per 1m, sliding_window; each weighs 3'],
    [{ ...FIVE, cost: { by: 'model', weights: { a: 1 } } }, '5 per 1m, sliding_window; weighed by model'],
    [{ ...FIVE, consistency: 'leased' }, '5 per 1m, sliding_window; leased'],
    [{ ...FIVE, on_store_failure: 'closed' }, '5 per 1m, sliding_window; closed when the store fails'],
    [{ ...FIVE, on_store_failure: 'open' }, '5 per 1m, sliding_window; open when the store fails'],
    [{ ...FIVE, on_store_failure: 'local' }, '5 per 1m, sliding_window'],
    [{ ...FIVE, local_share: 0.5 }, '5 per 1m, sliding_window; 0.5 of the budget when the store fails'],
    [{ ...FIVE, priority: 0 }, '5 per 1m, sliding_window; priority 0'],
    [{ ...FIVE, response: { status: 503 } }, '5 per 1m, sliding_window; answers 503'],
    [{ ...FIVE, response: {} }, '5 per 1m, sliding_window; answers 429'],
    [{ ...FIVE, ledger: 'exports' }, '5 per 1m, sliding_window; takes its cost of meter exports'],
    [{ ...FIVE, ledger: { meter: 'm', amount: 7 } }, '5 per 1m, sliding_window; takes 7 of meter m'],
    [{ unlimited: true, ledger: { meter: 'm', amount: 'settled' } }, 'unlimited; takes its settled cost of meter m'],
    [{ ...FIVE, replaces: [{ name: 'a' }, { name: 'b' }] }, '5 per 1m, sliding_window; replaces a, b'],
  ])('formats %j as "%s"', (rateLimit, expected) => {
    expect(describeRule(ruleOf(rateLimit))).toBe(expected)
  })

  it('formats the modes of its level', () => {
    const rule = ruleOf(FIVE, { shadow_mode: true, quota_mode: true })
    expect(describeRule(rule)).toBe('5 per 1m, sliding_window; shadow; quota mode')
  })
})

describe('describeRules', () => {
  it('draws domains in their order, and levels by kind: exact, blocks, wildcards, any', () => {
    const descriptors: DescriptorRule[] = [
      { key: 'ip', rate_limit: FIVE, descriptors: [{ key: 'path', rate_limits: [FIVE, { ...FIVE, name: 'second' }] }] },
      { key: 'ip', value: '10.*' },
      { key: 'ip', cidr: ['10.0.0.0/8', 'fd00::/8'], rate_limit: { unlimited: true } },
      { key: 'ip', value: '10.0.0.1', rate_limit: { ...FIVE, name: 'one' } },
      { key: 'off', enabled: false, rate_limit: FIVE },
      { key: 'a/b', rate_limit: FIVE, descriptors: [{ key: 'c', rate_limit: FIVE }] },
    ]
    const rules = compileObjects([
      { domain: 'z', version: 3, evaluate: 'path', descriptors },
      { domain: 'a', version: '1.10' },
    ])
    expect(describeRules(rules)).toEqual([
      'domain z, version 3, rules on the way apply too',
      '  ip=10.0.0.1',
      '    "one": 5 per 1m, sliding_window; leased',
      '  ip=10.0.0.0/8,fd00::/8',
      '    unlimited',
      '  ip=10.*',
      '  ip',
      '    5 per 1m, sliding_window',
      '    path',
      '      5 per 1m, sliding_window',
      '      "second": 5 per 1m, sliding_window',
      '  a/b',
      '    5 per 1m, sliding_window',
      '    c',
      '      5 per 1m, sliding_window',
      'domain a, version 1.10',
    ])
  })
})
