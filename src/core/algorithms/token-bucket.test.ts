import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { step } from '../step.ts'
import { expectRows } from './table.suite.ts'

const hundredPerMinute: LimitOptions = { algorithm: 'token_bucket', limit: 100, window: '1m' }
const sevenPerSecond: LimitOptions = { algorithm: 'token_bucket', limit: 7, window: '1s', burst: 3 }

describe('token_bucket', () => {
  it('adds 50 tokens of 100 a minute in 30 seconds', () => {
    expectRows(hundredPerMinute, [
      [0, 100, 'allowed', 0, 60_000],
      [0, 1, 'refused', 0, 60_000, 600],
      [30_000, 0, 'allowed', 50, 30_000],
      [30_000, 51, 'refused', 50, 30_000, 600],
      [30_000, 50, 'allowed', 0, 60_000],
      [90_000, 0, 'allowed', 100, 0],
      [900_000, 101, 'impossible', 100, 60_000, 100],
    ])
  })

  it('holds burst tokens, apart from the rate, and refills without rounding', () => {
    expectRows(sevenPerSecond, [
      [0, 3, 'allowed', 0, 429],
      [0, 1, 'refused', 0, 429, 143],
      [142, 1, 'refused', 0, 287, 1],
      [143, 1, 'allowed', 0, 429],
      [285, 1, 'refused', 0, 287, 1],
      [286, 1, 'allowed', 0, 429],
      [1000, 3, 'allowed', 0, 429],
      [1000, 4, 'impossible', 0, 429, 3],
    ])
  })

  it('does not charge a look or a refusal', () => {
    expectRows(hundredPerMinute, [
      [0, 0, 'allowed', 100, 0],
      [0, 60, 'allowed', 40, 36_000],
      [0, 41, 'refused', 40, 36_000, 600],
      [0, 0, 'allowed', 40, 36_000],
      [0, 40, 'allowed', 0, 60_000],
    ])
  })

  it('gives back a refund, never above a full bucket', () => {
    expectRows(hundredPerMinute, [
      [0, 30, 'allowed', 70, 18_000],
      [0, -10, 'allowed', 80, 12_000],
      [0, -4_294_967_295, 'allowed', 100, 0],
      [0, 100, 'allowed', 0, 60_000],
    ])
  })

  it('blocks everything but refunds when the limit is 0, and names its window as the reset', () => {
    expectRows({ ...hundredPerMinute, limit: 0 }, [
      [0, 1, 'impossible', 0, 60_000, 0],
      [9, 0, 'impossible', 0, 60_000, 0],
      [9, -1, 'allowed', 0, 0],
    ])
  })

  it('goes into debt for refusals with countDenied, at most one bucket deep', () => {
    expectRows({ ...hundredPerMinute, countDenied: true }, [
      [0, 100, 'allowed', 0, 60_000],
      [0, 10, 'refused', 0, 66_000, 12_000],
      [0, 0, 'refused', 0, 66_000, 6600],
      [0, 100, 'refused', 0, 120_000, 120_000],
      [0, 1, 'refused', 0, 120_000, 60_600],
      [60_000, 0, 'refused', 0, 60_000, 600],
      [60_600, 1, 'allowed', 0, 60_000],
    ])
  })

  it('owes at most one bucket after the burst is lowered', () => {
    const [wide, narrow] = [100, 10].map((burst) => compileLimit({ ...hundredPerMinute, burst }))
    const { state } = step(undefined, wide, 0, 100)
    expect(step(state, narrow, 0, 1).verdict).toMatchObject({
      kind: 'refused',
      resetAfterMs: 12_000,
      retryAfterMs: 6_600,
    })
    expect(step(state, narrow, 6_600, 1).verdict).toMatchObject({ kind: 'allowed', remaining: 0 })
    expect(step(state, narrow, 12_000, 10).verdict).toMatchObject({ kind: 'allowed', remaining: 0 })
  })

  it('refills nothing while the clock goes back, and counts on from there', () => {
    expectRows(hundredPerMinute, [
      [90_000, 80, 'allowed', 20, 48_000],
      [30_000, 21, 'refused', 20, 48_000, 600],
      [30_600, 21, 'allowed', 0, 60_000],
    ])
  })
})
