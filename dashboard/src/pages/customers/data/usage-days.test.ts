import { describe, expect, it } from 'vitest'
import type { UsageRow } from '../../../api/operations.ts'
import { daysOf, limitsIn, sumOf, usageFrom } from './usage-days.ts'

const row = (limit: string, at: string, allowed: number, refused = 0, cost = allowed): UsageRow => ({
  ...{ customer_id: 'acme', limit, at, allowed, refused, cost },
})

describe('usage by day', () => {
  it('spans thirty days of UTC, of which today is the last', () => {
    expect(usageFrom(Date.parse('2026-03-01T23:30:00Z'))).toBe(Date.parse('2026-01-31T00:00:00Z'))
  })

  it('a day without a row had no requests, and days outside of the span are not shown', () => {
    const rows = [row('api/key', '2026-02-02T00:00:00.000Z', 5, 2, 9), row('api/key', '2026-01-01T00:00:00.000Z', 99)]
    const days = daysOf(rows, 'api/key', Date.parse('2026-02-01T00:00:00Z'))
    expect(days).toHaveLength(30)
    expect(days[0]).toMatchObject({ allowed: 0, refused: 0, cost: 0 })
    expect(days[1]).toEqual({ atMs: Date.parse('2026-02-02T00:00:00Z'), allowed: 5, refused: 2, cost: 9 })
    expect(sumOf(days)).toEqual({ allowed: 5, refused: 2, cost: 9 })
  })

  it('limits are separate, the busiest first: a request counts under each of them', () => {
    const at = '2026-02-02T00:00:00.000Z'
    const rows = [row('a', at, 5), row('b', at, 1, 9), row('c', at, 5)]
    expect(limitsIn(rows)).toEqual(['b', 'a', 'c'])
    expect(sumOf(daysOf(rows, 'a', Date.parse(at))).allowed).toBe(5)
    expect(sumOf(daysOf(rows, undefined, Date.parse(at))).allowed).toBe(0)
  })
})
