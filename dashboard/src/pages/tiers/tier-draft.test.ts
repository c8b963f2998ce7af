import { describe, expect, it } from 'vitest'
import type { RuleLimit, RuleNode } from '../../api/operations.ts'
import { draftOf, plainLimits, plainText } from './tier-draft.ts'

const limit = (name: string, described: string): RuleLimit => ({
  id: 'api_key',
  name,
  described,
  limit: 1,
  algorithm: 'sliding_window',
  is_shadow: false,
  is_quota: false,
})
const node = (id: string, limits: RuleLimit[], below: RuleNode[] = [], tier: string | null = null): RuleNode => ({
  id,
  tier,
  limits,
  below,
})

const FREE = node(
  'api_key',
  [limit('requests', '20 per 1m, sliding_window')],
  [
    node('api_key/tokens', [limit('tokens', '40000 per 1m, token_bucket, burst 10000')]),
    node('api_key/method=POST', [limit('writes', '2 at once, leases of 5m')]),
  ],
  'free',
)
describe('a draft of a tier in force', () => {
  it('has its limits, and those below', () => {
    expect(draftOf(FREE)).toEqual({
      limits: {
        rate_limit: { name: 'requests', unit: 'minute', requests_per_unit: 20 },
        descriptors: [
          {
            key: 'tokens',
            rate_limit: {
              name: 'tokens',
              algorithm: 'token_bucket',
              unit: 'minute',
              requests_per_unit: 40000,
              burst: 10000,
            },
          },
          {
            key: 'method',
            value: 'POST',
            rate_limit: { name: 'writes', algorithm: 'concurrency', requests_per_unit: 2, lease_ttl: '5m' },
          },
        ],
      },
      missing: [],
    })
  })

  it.each([
    ['unlimited', { unlimited: true }],
    ['5 per 90s, gcra', { algorithm: 'gcra', window: '90s', requests_per_unit: 5 }],
    [
      '10000 per calendar month (Europe/Berlin), fixed_window',
      {
        algorithm: 'fixed_window',
        calendar: { unit: 'month', time_zone: 'Europe/Berlin' },
        requests_per_unit: 10000,
      },
    ],
  ])('%s', (described, expected) => {
    expect(draftOf(node('a', [limit('n', described)])).limits).toEqual({ rate_limit: { name: 'n', ...expected } })
  })

  it('says what it cannot write', () => {
    const odd = ['9 per 1m, sliding_window; weighed by model', '3 per 1h, sliding_window, sub-windows of 1m']
    const { missing, limits } = draftOf(node('a', [limit('a', odd[0]), limit('b', odd[1])]))
    expect(missing).toEqual([`a: ${odd[0]}`, `b: ${odd[1]}`])
    expect(limits).toEqual({ rate_limits: [{ name: 'a', unit: 'minute', requests_per_unit: 9 }, { name: 'b' }] })
  })
})

it('limits are said in words, with what they are about', () => {
  expect(plainLimits(FREE)).toEqual([
    { of: '', name: 'requests', text: '20 a minute, sliding window' },
    { of: 'tokens', name: 'tokens', text: '40,000 a minute, token bucket, burst 10,000' },
    { of: 'method=POST', name: 'writes', text: '2 at once, leases of 5m' },
  ])
  expect(plainText('7 per 10s, gcra')).toBe('7 per 10s, gcra')
})
