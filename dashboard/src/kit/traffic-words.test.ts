import { describe, expect, it } from 'vitest'
import type { LimitTraffic } from '../api/operations.ts'
import { afterText, periodTitle, reasonsOf } from './traffic-words.ts'

const limit = (least: number | null, most = least, more: Partial<LimitTraffic> = {}): LimitTraffic => ({
  ...{ domain: 'shop', rule_id: 'customer', requests: 5_214, refused: 5_114, why: null },
  refused_after: least === null ? null : { at_least: least, at_most: most ?? least },
  ...more,
})

describe('what would have been refused', () => {
  it.each<[text: string, of: LimitTraffic]>([
    ['0', limit(0)],
    [(4_114).toLocaleString(), limit(4_114)],
    [`all ${(5_214).toLocaleString()}`, limit(5_214)],
    [`up to ${(5_114).toLocaleString()}`, limit(0, 5_114)],
    [`${(1_000).toLocaleString()} to ${(5_114).toLocaleString()}`, limit(1_000, 5_114)],
    ['unknown', limit(0, 5_214)],
    ['unknown', limit(null)],
    ['unknown', limit(null, null, { requests: null, refused: null })],
    ['0', limit(0, 0, { requests: 0, refused: 0 })],
  ])('reads as %s', (text, of) => {
    expect(afterText(of)).toBe(text)
  })

  it('says each reason once, and of which limits where there are several reasons', () => {
    const [a, b] = [limit(null, null, { why: 'A.' }), limit(null, null, { why: 'B.', rule_id: 'month' })]
    expect(reasonsOf([a, a, limit(1)])).toEqual(['A.'])
    expect(reasonsOf([a, b])).toEqual(['shop/customer: A.', 'shop/month: B.'])
  })
})

it('a period says which requests were counted', () => {
  const period = { from: '2026-11-19T06:00:00Z', to: '2026-11-19T06:12:30Z', limits: [], limits_left_out: 0 }
  expect(periodTitle({ ...period, period: 'this_hour' })).toMatch(/^This hour, .*00.* to .*12/)
  expect(periodTitle({ ...period, period: 'busiest_hour' })).toMatch(/^Their busiest hour of the week before, .*19/)
  expect(periodTitle({ ...period, period: 'last_hour' })).toBe('The last hour, all callers')
})
