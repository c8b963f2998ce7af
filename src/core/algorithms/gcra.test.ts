import { describe, it } from 'vitest'
import type { LimitOptions } from '../limit.ts'
import { expectRows } from './table.suite.ts'

const tenPerSecond: LimitOptions = { algorithm: 'gcra', limit: 10, window: '1s', burst: 4 }

describe('gcra', () => {
  it('admits the burst immediately, then one hit each emission interval', () => {
    expectRows(tenPerSecond, [
      [0, 1, 'allowed', 3, 100],
      [0, 3, 'allowed', 0, 400],
      [0, 1, 'refused', 0, 400, 100],
      [99, 1, 'refused', 0, 301, 1],
      [100, 1, 'allowed', 0, 400],
      [300, 2, 'allowed', 0, 400],
      [700, 0, 'allowed', 4, 0],
    ])
  })

  it('does not charge a look or a refusal', () => {
    expectRows(tenPerSecond, [
      [0, 0, 'allowed', 4, 0],
      [0, 3, 'allowed', 1, 300],
      [0, 2, 'refused', 1, 300, 100],
      [0, 0, 'allowed', 1, 300],
      [0, 1, 'allowed', 0, 400],
    ])
  })

  it('gives back a refund, never above a full burst', () => {
    expectRows(tenPerSecond, [
      [1000, 4, 'allowed', 0, 400],
      [1000, -1, 'allowed', 1, 300],
      [1000, -99, 'allowed', 4, 0],
      [1000, 4, 'allowed', 0, 400],
    ])
  })

  it('calls a cost above the burst impossible, and does not charge it', () => {
    expectRows(tenPerSecond, [
      [0, 5, 'impossible', 4, 1000, 4],
      [0, 4, 'allowed', 0, 400],
      [0, 5, 'impossible', 0, 400, 4],
    ])
    expectRows({ algorithm: 'gcra', limit: 0, window: '1s' }, [
      [0, 1, 'impossible', 0, 1000, 0],
      [9, 0, 'impossible', 0, 1000, 0],
      [9, -1, 'allowed', 0, 0],
    ])
  })

  it('goes into debt for refusals with countDenied, at most one burst deep', () => {
    expectRows({ ...tenPerSecond, countDenied: true }, [
      [0, 4, 'allowed', 0, 400],
      [0, 1, 'refused', 0, 500, 200],
      [0, 0, 'refused', 0, 500, 200],
      [0, 4, 'refused', 0, 800, 800],
      [0, 1, 'refused', 0, 800, 500],
      [500, 1, 'allowed', 0, 400],
    ])
  })

  it('waits no longer than for an empty burst, however far the clock goes back', () => {
    expectRows(tenPerSecond, [
      [90_000, 2, 'allowed', 2, 200],
      [89_900, 0, 'allowed', 1, 300],
      [1000, 1, 'refused', 0, 400, 100],
      [1100, 1, 'allowed', 0, 400],
    ])
  })
})
