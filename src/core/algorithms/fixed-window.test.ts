import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { step } from '../step.ts'
import { expectRows } from './table.suite.ts'

const threePerSecond: LimitOptions = { algorithm: 'fixed_window', limit: 3, window: '1s' }

describe('fixed_window', () => {
  it('admits the limit in each window aligned to 1970, and twice the limit around a boundary', () => {
    expectRows(threePerSecond, [
      [5999, 1, 'allowed', 2, 1],
      [5999, 1, 'allowed', 1, 1],
      [5999, 1, 'allowed', 0, 1],
      [5999, 1, 'refused', 0, 1, 1],
      [6000, 1, 'allowed', 2, 1000],
      [6000, 1, 'allowed', 1, 1000],
      [6000, 1, 'allowed', 0, 1000],
      [6250, 1, 'refused', 0, 750, 750],
    ])
  })

  it('begins each window with its first hit when anchored, and never admits more than the limit in one', () => {
    expectRows({ ...threePerSecond, anchor: 'first_hit' }, [
      [5999, 1, 'allowed', 2, 1000],
      [6500, 2, 'allowed', 0, 499],
      [6998, 1, 'refused', 0, 1, 1],
      [6999, 0, 'allowed', 3, 0],
      [7400, 3, 'allowed', 0, 1000],
      [8399, 1, 'refused', 0, 1, 1],
      [8400, 1, 'allowed', 2, 1000],
    ])
  })

  it('does not charge a look or a refusal', () => {
    expectRows(threePerSecond, [
      [0, 0, 'allowed', 3, 0],
      [100, 2, 'allowed', 1, 900],
      [200, 0, 'allowed', 1, 800],
      [300, 2, 'refused', 1, 700, 700],
      [300, 1, 'allowed', 0, 700],
      [300, 0, 'refused', 0, 700, 700],
    ])
  })

  it('gives back a refund, never more than the window has counted', () => {
    expectRows(threePerSecond, [
      [0, 3, 'allowed', 0, 1000],
      [10, -1, 'allowed', 1, 990],
      [20, -9, 'allowed', 3, 0],
      [30, 3, 'allowed', 0, 970],
      [1000, -1, 'allowed', 3, 0],
    ])
  })

  it('calls a cost above the limit impossible, and does not charge it', () => {
    expectRows(threePerSecond, [
      [0, 4, 'impossible', 3, 1000, 3],
      [0, 1, 'allowed', 2, 1000],
      [0, 4, 'impossible', 2, 1000, 3],
    ])
  })

  it('blocks everything but refunds when the limit is 0, and names its window as the reset', () => {
    expectRows({ ...threePerSecond, limit: 0 }, [
      [0, 1, 'impossible', 0, 1000, 0],
      [300, 0, 'impossible', 0, 700, 0],
      [0, -1, 'allowed', 0, 0],
    ])
  })

  it('charges refusals with countDenied, so that even a look is refused above the limit', () => {
    expectRows({ ...threePerSecond, countDenied: true }, [
      [0, 3, 'allowed', 0, 1000],
      [1, 2, 'refused', 0, 999, 999],
      [2, 0, 'refused', 0, 998, 998],
      [3, -2, 'allowed', 0, 997],
      [4, -1, 'allowed', 1, 996],
      [5, 4, 'impossible', 0, 995, 3],
      [6, -4, 'allowed', 1, 994],
      [1000, 1, 'allowed', 2, 1000],
    ])
  })

  it('keeps the count for one window from the moment the clock went back', () => {
    expectRows(threePerSecond, [
      [5100, 3, 'allowed', 0, 900],
      [4700, 1, 'refused', 0, 1000, 1000],
      [5600, 1, 'refused', 0, 100, 100],
      [5700, 1, 'allowed', 2, 300],
    ])
  })
})

describe('fixed_window on a calendar', () => {
  const twoPerMonth: LimitOptions = {
    algorithm: 'fixed_window',
    limit: 2,
    calendar: { unit: 'month', timeZone: 'Europe/Berlin' },
  }
  const at = (text: string): number => Date.parse(text)
  const HOUR_MS = 3_600_000

  it('restarts with the month of its zone', () => {
    expectRows(twoPerMonth, [
      [at('2026-02-28T22:00:00Z'), 2, 'allowed', 0, HOUR_MS],
      [at('2026-02-28T22:59:59.999Z'), 1, 'refused', 0, 1, 1],
      [at('2026-02-28T23:00:00Z'), 1, 'allowed', 1, (31 * 24 - 1) * HOUR_MS],
    ])
  })

  it('waits for a day of 23 or 25 hours when the clocks change', () => {
    const limit = compileLimit({ ...twoPerMonth, limit: 1, calendar: { unit: 'day', timeZone: 'Europe/Berlin' } })
    const resets = ['2026-03-28T23:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'].map(
      (midnight) => step(undefined, limit, at(midnight), 1).verdict.resetAfterMs / HOUR_MS,
    )
    expect(resets).toEqual([23, 25, 24])
  })
})
