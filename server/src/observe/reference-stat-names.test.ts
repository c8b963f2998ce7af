import { compileObjects } from 'sluice/internal/core/rules/compile'
import type { RuleFile } from 'sluice/internal/core/rules/schema'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { referenceStatName } from './reference-stat-names.ts'

const rate_limit = { unit: 'minute', requests_per_unit: 5 }
const RULES: RuleFile = {
  domain: 'd',
  descriptors: [
    { key: 'user', rate_limit, descriptors: [{ key: 'path', value: '/v1', rate_limit }] },
    { key: 'wild', value: 'a*', rate_limit },
    { key: 'net', cidr: ['10.0.0.0/8', '192.0.2.0/24'], rate_limit },
    { key: 'shared', value: 'a*', share_threshold: true, detailed_metric: true, rate_limit },
    { key: 'detailed', detailed_metric: true, rate_limit },
    { key: 'told', value_to_metric: true, descriptors: [{ key: 'not', rate_limit }] },
    { key: 'api_key', secret: true, detailed_metric: true, value_to_metric: true, rate_limit },
  ],
}
const limiter = new Limiter(() => compileObjects([RULES]), new MemoryStore())

/** nameOf names the counts of a request with entries that are written as `key=value`. */
function nameOf(...pairs: string[]): string {
  const entries = pairs.map((pair) => ({ key: pair.split('=')[0], value: pair.split('=')[1] }))
  return referenceStatName(limiter.plan({ domain: 'd', descriptors: [{ entries }] })[0])
}

describe('referenceStatName', () => {
  it.each<[name: string, pairs: string[]]>([
    ['d.user', ['user=a']],
    ['d.user.path_/v1', ['user=a', 'path=/v1']],
    ['d.wild_a*', ['wild=abc']],
    ['d.net_10_0_0_0/8,192_0_2_0/24', ['net=10.1.2.3']],
    ['d.shared_a*', ['shared=abc']],
    ['d.detailed_10_1_2_3', ['detailed=10.1.2.3']],
    ['d.detailed_a_b_c', ['detailed=a:b|c']],
    ['d.told_x.not', ['told=x', 'not=y']],
  ])('is %s for %j', (name, pairs) => {
    expect(nameOf(...pairs)).toBe(name)
  })

  it('never holds a secret', () => {
    expect(nameOf('api_key=sk_live')).toBe('d.api_key')
    const entries = [{ key: 'api_key', value: 'sk_live' }]
    const limit = { requestsPerUnit: 1, unit: 'minute' } as const
    expect(referenceStatName(limiter.plan({ domain: 'd', descriptors: [{ entries, limit }] })[0])).toBe('d.api_key')
  })

  it('is made of the entries where a request brings its own limit', () => {
    const entries = [
      { key: 'a', value: 'b' },
      { key: 'c', value: '' },
    ]
    const limit = { requestsPerUnit: 1, unit: 'minute' } as const
    expect(referenceStatName(limiter.plan({ domain: 'd', descriptors: [{ entries, limit }] })[0])).toBe('d.a_b.c')
  })
})
