import { describe, expectTypeOf, it } from 'vitest'
import type { DescriptorRule, RateLimitRule, RuleFile, TierRule } from './schema.ts'

describe('the types of rules', () => {
  it('need a domain and keys, and nothing else', () => {
    expectTypeOf<{ domain: string }>().toExtend<RuleFile>()
    expectTypeOf<Record<never, never>>().not.toExtend<RuleFile>()
    expectTypeOf<{ key: string }>().toExtend<DescriptorRule>()
    expectTypeOf<Record<never, never>>().not.toExtend<DescriptorRule>()
  })

  it('nest', () => {
    expectTypeOf<RuleFile['descriptors']>().toEqualTypeOf<DescriptorRule[] | null | undefined>()
    expectTypeOf<DescriptorRule['descriptors']>().toEqualTypeOf<DescriptorRule[] | null | undefined>()
    expectTypeOf<DescriptorRule['rate_limit']>().toEqualTypeOf<RateLimitRule | null | undefined>()
    expectTypeOf<DescriptorRule['rate_limits']>().toEqualTypeOf<RateLimitRule[] | undefined>()
    expectTypeOf<RuleFile['tiers']>().toEqualTypeOf<Record<string, TierRule> | undefined>()
    expectTypeOf<keyof TierRule>().toEqualTypeOf<'rate_limit' | 'rate_limits' | 'descriptors'>()
  })

  it('have the types of the values', () => {
    expectTypeOf<RuleFile['version']>().toEqualTypeOf<string | number | undefined>()
    expectTypeOf<RuleFile['evaluate']>().toEqualTypeOf<'leaf' | 'path' | undefined>()
    expectTypeOf<DescriptorRule['cidr']>().toEqualTypeOf<string | string[] | undefined>()
    expectTypeOf<DescriptorRule['metadata']>().toEqualTypeOf<Record<string, unknown> | null | undefined>()
    expectTypeOf<DescriptorRule['shadow_mode']>().toEqualTypeOf<boolean | null | undefined>()
  })
})
