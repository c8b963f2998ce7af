import { describe, expect, expectTypeOf, it } from 'vitest'
import { ALGORITHM_NAMES } from './algorithms/algorithms.ts'
import type { LimitOptions } from './limit.ts'
import {
  COUNTING,
  COUNTING_OPTIONS,
  LIMIT_OPTIONS,
  type LimitOption,
  type LimitOptionKey,
  type RateLimitRule,
} from './limit-options.ts'

const rows = Object.entries<LimitOption>(LIMIT_OPTIONS)

describe('the table of limit options', () => {
  it('has every option of LimitOptions, and no other', () => {
    expectTypeOf<(typeof COUNTING_OPTIONS)[number]>().toEqualTypeOf<keyof LimitOptions>()
    expect(COUNTING_OPTIONS).toEqual(
      expect.arrayContaining(['limit', 'window', 'algorithm', 'burst', 'subWindows', 'countDenied']),
    )
  })

  it('names each option in code once', () => {
    const names = rows.flatMap(([, { option }]) => option ?? [])
    expect(new Set(names).size).toBe(names.length)
  })

  it('names an option in code as in rule files, but in camel case', () => {
    const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const others = rows.filter(([key, { option }]) => option !== undefined && option !== camel(key))
    expect(others.map(([key]) => key)).toEqual(['requests_per_unit'])
  })

  it('refers only to algorithms and options that there are', () => {
    expect(
      rows.flatMap(([, { algorithms = [] }]) => algorithms).filter((name) => !ALGORITHM_NAMES.includes(name)),
    ).toEqual([])
    expect(
      rows.flatMap(([, { needs }]) => needs?.[0] ?? []).filter((key) => !Object.hasOwn(LIMIT_OPTIONS, key)),
    ).toEqual([])
  })

  it('has an error for each option that compileLimit checks', () => {
    const counting = Object.entries<LimitOption>(COUNTING).filter(([, { option }]) => option !== undefined)
    expect(counting.filter(([, { code }]) => code === undefined)).toEqual([])
  })

  it('says something of each option, in one line', () => {
    for (const [, { doc }] of rows) expect(doc).toMatch(/^[A-Z0-9m][^\n]{10,110}[^.\n]$/)
  })
})

describe('the type of a limit in a rule file', () => {
  it('has the keys of the table, all of them optional', () => {
    expectTypeOf<keyof RateLimitRule>().toEqualTypeOf<LimitOptionKey>()
    expectTypeOf<Record<never, never>>().toExtend<RateLimitRule>()
  })

  it('has the types of the values', () => {
    expectTypeOf<RateLimitRule['unit']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<RateLimitRule['window']>().toEqualTypeOf<string | number | undefined>()
    expectTypeOf<RateLimitRule['count_denied']>().toEqualTypeOf<boolean | undefined>()
    expectTypeOf<RateLimitRule['algorithm']>().toEqualTypeOf<LimitOptions['algorithm'] | undefined>()
    expectTypeOf<RateLimitRule['replaces']>().toEqualTypeOf<{ name: string }[] | null | undefined>()
    expectTypeOf<RateLimitRule['calendar']>().toEqualTypeOf<
      { unit: 'day' | 'week' | 'month' | 'year'; time_zone?: string | undefined } | undefined
    >()
    expectTypeOf<RateLimitRule['cost']>().toEqualTypeOf<
      number | { by: string; weights: Record<string, number>; default?: number | undefined } | undefined
    >()
    expectTypeOf<RateLimitRule['response']>().toEqualTypeOf<
      | {
          status?: number | undefined
          body?: string | Record<string, unknown> | unknown[] | undefined
          headers?: Record<string, string> | undefined
        }
      | undefined
    >()
  })
})
