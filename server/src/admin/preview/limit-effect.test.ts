import { compileLimit, type LimitOptions } from 'sluice/internal/core/limit'
import { describe, expect, it } from 'vitest'
import type { LimitEffect } from '../api/change.ts'
import { effectOf, plainLimit } from './limit-effect.ts'

const per = (limit: number, window: LimitOptions['window'], more: Partial<LimitOptions> = {}): LimitOptions => ({
  limit,
  window: window as string,
  ...more,
})
const month = (limit: number): LimitOptions => ({ limit, algorithm: 'fixed_window', calendar: { unit: 'month' } })
const places = (limit: number): LimitOptions => ({ limit, algorithm: 'concurrency' })
const bucket = (limit: number, burst: number) => per(limit, '1m', { algorithm: 'token_bucket', burst })

// Their rates differ by less than doubles can show, and their counts the other way.
const MOST = per(4_294_967_295, 73 * 4_294_967_295 - 1)
const ONE_LESS = per(4_294_967_294, 73 * 4_294_967_295 - 74)

describe('a change of a limit', () => {
  it.each<[claim: string, before: LimitOptions | undefined, after: LimitOptions | undefined, effect: LimitEffect]>([
    ['more over a longer time is fewer over time', per(600, '1m'), per(700, '1h'), 'lowered'],
    ['fewer in a window may be more over time', per(600, '1m'), per(20, '1s'), 'raised'],
    ['the same over time, fewer in a window', per(60, '1m'), per(1, '1s'), 'lowered'],
    ['the same over time, more in a window', per(1, '1s'), per(60, '1m'), 'raised'],
    ['nothing', per(60, '1m'), per(60, '1m'), 'same'],
    ['one hit of the most', per(4_294_967_295, '3650d'), per(4_294_967_294, '3650d'), 'lowered'],
    ['a little faster, of numbers that no double holds', MOST, ONE_LESS, 'raised'],
    ['a month has 30 days', month(30), per(1, '1d'), 'lowered'],
    ['a month has 30 days', month(31), per(31, '30d'), 'same'],
    ['a larger burst', bucket(10, 20), bucket(10, 30), 'raised'],
    ['a smaller burst', bucket(10, 20), bucket(10, 10), 'lowered'],
    ['to nothing at all', per(1, '1d'), per(0, '1s'), 'lowered'],
    ['a limit where there was none', undefined, per(1_000, '1s'), 'lowered'],
    ['no limit any more', per(0, '1s'), undefined, 'raised'],
    ['none before and after', undefined, undefined, 'same'],
    ['more places', places(1), places(2), 'raised'],
    ['fewer places', places(2), places(1), 'lowered'],
    ['places in place of hits', per(1, '1s'), places(2), 'replaced'],
  ])('%s', (_, before, after, effect) => {
    expect(effectOf(before && compileLimit(before), after && compileLimit(after))).toBe(effect)
  })

  it('is given in numbers that people write', () => {
    expect(plainLimit(compileLimit(per(5, '90s')))).toEqual({
      ...{ requestsPerUnit: 5, unit: undefined, windowMs: 90_000, burst: undefined },
    })
    expect(plainLimit(compileLimit(month(5)))).toMatchObject({ unit: 'month', windowMs: 2_592_000_000 })
    expect(plainLimit(compileLimit(bucket(10, 20)))).toMatchObject({ unit: 'minute', burst: 20 })
    expect(plainLimit(compileLimit(places(3)))).toMatchObject({ requestsPerUnit: 3, windowMs: undefined })
  })
})
