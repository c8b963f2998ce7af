import { expect, it } from 'vitest'
import { RateBudget } from './rate-budget.ts'

it('has its burst immediately, and gets some back with time and with what was served, up to its burst', () => {
  const budget = new RateBudget({ burst: 2, perSecond: 2 }, 0, 7)
  const spent = [0, 0, 0, 500, 500].map((atMs) => budget.spend(atMs, 7))
  expect(spent).toEqual([true, true, false, true, false])
  expect([budget.spend(500, 8), budget.spend(500, 8)]).toEqual([true, false])
  expect([60_000, 60_000, 60_000].map((atMs) => budget.spend(atMs, 999))).toEqual([true, true, false])
})

it('what is refused is no debt', () => {
  const budget = new RateBudget({ burst: 1, perSecond: 1 }, 0)
  for (let i = 0; i < 1_000; i++) budget.spend(0, 0)
  expect(budget.spend(1_000, 0)).toBe(true)
})

it('is full when it is as good as new', () => {
  const budget = new RateBudget({ burst: 2, perSecond: 1 }, 0)
  budget.spend(0, 0)
  expect([budget.isFull(999, 0), budget.isFull(1_000, 0), budget.isFull(0, 1)]).toEqual([false, true, true])
})
