import { describe, expect, it } from 'vitest'
import type { LimitSpec } from './limit-spec.ts'
import { SpecRules } from './spec-rules.ts'

const make = (response: LimitSpec<never>['response']) => () => new SpecRules({ limit: 1, window: '1m', response }, '')

describe('the response of a limit', () => {
  it('may have what rules may have', () => {
    expect(make({ status: 503, body: 'later', headers: [['X-Plan', 'free']] })).not.toThrow()
    expect(make({ body: { code: 'later' }, headers: { 'X-Plan': 'free' } })).not.toThrow()
  })

  it.each([
    [{ status: 200 }, 'GATE_OPTIONS_INVALID: response.status: got 200, expected from 400 to 599'],
    [
      { headers: [['X Plan', 'free']] },
      'GATE_OPTIONS_INVALID: response.headers: ["X Plan","free"] is not a valid field',
    ],
    [
      { headers: [['X-Plan', 'a\r\nb: c']] },
      'GATE_OPTIONS_INVALID: response.headers: ["X-Plan","a\\r\\nb: c"] is not a valid field',
    ],
  ] as const)('is refused immediately where it is %o', (response, message) => {
    expect(make(response)).toThrow(message)
  })
})

describe('the consistency of a limit', () => {
  const of = (spec: Partial<LimitSpec<never>>): string =>
    new SpecRules<never>({ limit: 1, window: '1m', ...spec }, '').ruleFor(1, false).consistency

  it.each<[Partial<LimitSpec<never>>, string]>([
    [{}, 'exact'],
    [{ by: 'everyone' }, 'leased'],
    [{ by: 'everyone', algorithm: 'leaky_bucket' }, 'exact'],
    [{ by: 'everyone', consistency: 'exact' }, 'exact'],
    [{ consistency: 'eventual', syncInterval: '50ms' }, 'eventual'],
  ])('of %o is %s', (spec, expected) => {
    expect(of(spec)).toBe(expected)
  })
})

describe('the algorithm of a limit without one', () => {
  const of = (limit: LimitSpec<never>['limit'], amount: number): string =>
    new SpecRules<never>({ limit, window: '1m' }, '').ruleFor(amount, false).limit.algorithm

  it('is exact where the number is small', () => {
    expect([of(1, 1), of(10, 10), of(11, 11)]).toEqual(['sliding_log', 'sliding_log', 'sliding_window'])
  })

  it('is the same for every amount where callers have others, so that none loses count when theirs changes', () => {
    expect([5, 100].map((amount) => of({ free: 5, pro: 100 }, amount))).toEqual(['sliding_window', 'sliding_window'])
    expect([5, 100].map((amount) => of(() => 5, amount))).toEqual(['sliding_window', 'sliding_window'])
  })
})
