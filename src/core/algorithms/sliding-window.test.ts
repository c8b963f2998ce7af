import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { step } from '../step.ts'
import { expectRows } from './table.suite.ts'

const hundredPerMinute: LimitOptions = { limit: 100, window: '1m' }
const tenPerSecond: LimitOptions = { limit: 10, window: '1s' }

describe('sliding_window', () => {
  it('admits exactly two more with 84 before and 36 now, a quarter into the minute (⌊84 × 0.75⌋ + 36 = 98)', () => {
    expectRows(hundredPerMinute, [
      [0, 84, 'allowed', 16, 60_000],
      [75_000, 36, 'allowed', 2, 45_000],
      [75_000, 2, 'allowed', 0, 45_000],
      [75_000, 1, 'refused', 0, 45_000, 714],
    ])
  })

  it('counts what the trailing window covers: a millisecond of the previous has left when a window begins', () => {
    expectRows(hundredPerMinute, [
      [0, 80, 'allowed', 20, 60_000],
      [75_000, 40, 'allowed', 1, 45_000],
      [75_000, 1, 'allowed', 0, 45_000],
      [75_000, 1, 'refused', 0, 45_000, 750],
      [75_749, 1, 'refused', 0, 44_251, 1],
      [75_750, 1, 'allowed', 0, 44_250],
    ])
  })

  it('lets the previous window fade, and forgets it after one more', () => {
    expectRows(tenPerSecond, [
      [0, 10, 'allowed', 0, 1000],
      [999, 1, 'refused', 0, 1, 1],
      [1000, 1, 'allowed', 0, 1000],
      [1000, 1, 'refused', 0, 1000, 100],
      [1100, 1, 'allowed', 0, 900],
      [1500, 0, 'allowed', 4, 500],
      [2000, 0, 'allowed', 9, 1000],
      [3000, 0, 'allowed', 10, 0],
    ])
  })

  it('waits through the next window for a cost that this window has used up', () => {
    expectRows(tenPerSecond, [
      [0, 8, 'allowed', 2, 1000],
      [0, 6, 'refused', 2, 1000, 1375],
      [0, 10, 'refused', 2, 1000, 1875],
      [1375, 6, 'allowed', 0, 625],
    ])
  })

  it('makes no one who used up one hit a minute wait for longer than a minute', () => {
    expectRows({ limit: 1, window: '1m' }, [
      [1_000, 1, 'allowed', 0, 59_000],
      [1_000, 1, 'refused', 0, 59_000, 59_000],
      [60_000, 1, 'allowed', 0, 60_000],
      [119_999, 1, 'refused', 0, 1, 1],
    ])
  })

  it('does not charge a look or a refusal', () => {
    expectRows(tenPerSecond, [
      [0, 0, 'allowed', 10, 0],
      [0, 7, 'allowed', 3, 1000],
      [0, 4, 'refused', 3, 1000, 1000],
      [0, 0, 'allowed', 3, 1000],
      [0, 3, 'allowed', 0, 1000],
    ])
  })

  it('takes a refund from the current window first, then from the previous one, and never more than both', () => {
    expectRows(tenPerSecond, [
      [0, 9, 'allowed', 1, 1000],
      [1500, 5, 'allowed', 1, 500],
      [1500, -6, 'allowed', 7, 500],
      [1500, -99, 'allowed', 10, 0],
      [1500, 10, 'allowed', 0, 500],
    ])
  })

  it('calls a cost above the limit impossible, and does not charge it', () => {
    expectRows(tenPerSecond, [
      [0, 11, 'impossible', 10, 1000, 10],
      [0, 10, 'allowed', 0, 1000],
      [0, 11, 'impossible', 0, 1000, 10],
    ])
  })

  it('blocks everything but refunds when the limit is 0, and names its window as the reset', () => {
    expectRows({ ...tenPerSecond, limit: 0 }, [
      [0, 1, 'impossible', 0, 1000, 0],
      [300, 0, 'impossible', 0, 700, 0],
      [0, -1, 'allowed', 0, 0],
    ])
  })

  it('charges refusals with countDenied, and computes the wait after that charge', () => {
    expectRows({ ...tenPerSecond, countDenied: true }, [
      [0, 10, 'allowed', 0, 1000],
      [0, 5, 'refused', 0, 1000, 1000 + 600],
      [0, 0, 'refused', 0, 1000, 1000 + 333],
      [1332, 0, 'refused', 0, 668, 1],
      [1333, 0, 'allowed', 1, 667],
      [1600, 5, 'allowed', 0, 400],
    ])
  })

  it('starts its window again where the clock went back to, with all it has counted', () => {
    expectRows(tenPerSecond, [
      [5000, 10, 'allowed', 0, 1000],
      [6500, 2, 'allowed', 4, 500],
      [5750, 1, 'refused', 0, 1001, 201],
      [5951, 1, 'allowed', 0, 800],
      [6751, 0, 'allowed', 8, 1000],
    ])
  })

  it('reports what it admits where limit × window is above 2^53', () => {
    const limit = compileLimit({ limit: 769_344, window: 167_899_048_919 })
    const state = { at: 1_678_990_489_190, first: 751_144, second: 151_543 }
    const { verdict, state: after } = step(state, limit, 1_700_995_237_462, 93_307)
    if (verdict.kind !== 'refused') throw new Error(`expected a refusal, got ${verdict.kind}`)
    const retryAt = 1_700_995_237_462 + verdict.retryAfterMs
    expect(step(after, limit, retryAt - 1, 93_307).verdict.kind).toBe('refused')
    expect(step(after, limit, retryAt, 93_307).verdict.kind).toBe('allowed')
  })
})
