import { expect, it } from 'vitest'
import type { Block, NearLimit } from '../../../api/operations.ts'
import { flagsOf, isInForce } from './customer-flags.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const near = (customer_id: string | null, limit: number, remaining: number, resets_at = '2026-01-01T12:01:00Z') =>
  ({ customer_id, limit, remaining, resets_at }) as NearLimit
const block = (customer_id: string | null, expires_at: string | null = null) =>
  ({ customer_id, expires_at, effective_at: '2026-01-01T11:00:00Z' }) as Block

it('a customer is as full as its fullest limit', () => {
  const flags = flagsOf([near('a', 100, 15), near('a', 10, 0), near('b', 100, 20), near(null, 5, 0)], [], NOW)
  expect(flags('a')).toEqual({ isBlocked: false, fullest: 1 })
  expect(flags('b').fullest).toBeCloseTo(0.8)
  expect(flags('c')).toEqual({ isBlocked: false, fullest: undefined })
})

it('a limit that has been reset since is no longer near', () => {
  expect(flagsOf([near('a', 10, 0, '2026-01-01T11:59:59Z')], [], NOW)('a').fullest).toBeUndefined()
})

it('a block counts from its beginning until its end', () => {
  const flags = flagsOf([], [block('a'), block('b', '2026-01-01T12:00:00Z'), block(null)], NOW)
  expect([flags('a').isBlocked, flags('b').isBlocked]).toEqual([true, false])
  expect(isInForce({ effective_at: '2026-01-01T12:00:01Z', expires_at: null }, NOW)).toBe(false)
})
