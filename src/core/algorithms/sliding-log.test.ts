import { describe, expect, it } from 'vitest'
import { compileLimit, type LimitOptions } from '../limit.ts'
import { type CounterState, step } from '../step.ts'
import { expectRows } from './table.suite.ts'

const threePerSecond: LimitOptions = { algorithm: 'sliding_log', limit: 3, window: '1s' }

describe('sliding_log', () => {
  it('counts each hit for exactly one window', () => {
    expectRows(threePerSecond, [
      [500, 1, 'allowed', 2, 1000],
      [800, 2, 'allowed', 0, 1000],
      [1499, 1, 'refused', 0, 301, 1],
      [1500, 1, 'allowed', 0, 1000],
      [1500, 1, 'refused', 0, 1000, 300],
      [1800, 2, 'allowed', 0, 1000],
    ])
  })

  it('counts every hit of the same millisecond', () => {
    expectRows(threePerSecond, [
      [7, 1, 'allowed', 2, 1000],
      [7, 1, 'allowed', 1, 1000],
      [7, 1, 'allowed', 0, 1000],
      [7, 1, 'refused', 0, 1000, 1000],
    ])
  })

  it('waits for as many hits to leave as the cost needs', () => {
    expectRows(threePerSecond, [
      [0, 1, 'allowed', 2, 1000],
      [100, 1, 'allowed', 1, 1000],
      [200, 1, 'allowed', 0, 1000],
      [300, 1, 'refused', 0, 900, 700],
      [300, 2, 'refused', 0, 900, 800],
      [300, 3, 'refused', 0, 900, 900],
    ])
  })

  it('does not charge a look or a refusal', () => {
    expectRows(threePerSecond, [
      [0, 0, 'allowed', 3, 0],
      [0, 2, 'allowed', 1, 1000],
      [500, 2, 'refused', 1, 500, 500],
      [500, 0, 'allowed', 1, 500],
      [1000, 0, 'allowed', 3, 0],
    ])
  })

  it('takes a refund from the newest hits, never more than there are', () => {
    expectRows(threePerSecond, [
      [0, 1, 'allowed', 2, 1000],
      [400, 2, 'allowed', 0, 1000],
      [500, -1, 'allowed', 1, 900],
      [500, -1, 'allowed', 2, 500],
      [500, -9, 'allowed', 3, 0],
      [500, 3, 'allowed', 0, 1000],
    ])
  })

  it('calls a cost above the limit impossible, and does not charge it', () => {
    expectRows(threePerSecond, [
      [0, 4, 'impossible', 3, 1000, 3],
      [0, 3, 'allowed', 0, 1000],
      [0, 4, 'impossible', 0, 1000, 3],
    ])
  })

  it('blocks everything but refunds when the limit is 0, and names its window as the reset', () => {
    expectRows({ ...threePerSecond, limit: 0 }, [
      [0, 1, 'impossible', 0, 1000, 0],
      [0, 0, 'impossible', 0, 1000, 0],
      [0, -1, 'allowed', 0, 0],
    ])
  })

  it('charges refusals with countDenied: who hammers stays refused, who waits a window is admitted', () => {
    expectRows({ ...threePerSecond, countDenied: true }, [
      [0, 3, 'allowed', 0, 1000],
      [400, 1, 'refused', 0, 1000, 600],
      [999, 1, 'refused', 0, 1000, 1],
      [999, 2, 'refused', 0, 1000, 1000],
      [1998, 2, 'refused', 0, 1000, 1000],
      [2998, 3, 'allowed', 0, 1000],
    ])
  })

  it('keeps at most the hits of the limit and of one request, however many are refused', () => {
    const limit = compileLimit({ ...threePerSecond, countDenied: true })
    let state: CounterState | undefined
    for (let atMs = 0; atMs < 500; atMs++) {
      state = step(state, limit, atMs, 1 + (atMs % 3)).state
      const records = state !== undefined && 'records' in state ? state.records : []
      expect(records.reduce((sum, [, hits]) => sum + hits, 0)).toBeLessThan(2 * limit.max)
    }
  })

  it('moves hits of the future to now when the clock goes back', () => {
    expectRows(threePerSecond, [
      [9000, 2, 'allowed', 1, 1000],
      [9500, 1, 'allowed', 0, 1000],
      [9200, 1, 'refused', 0, 1000, 800],
      [5000, 1, 'refused', 0, 1000, 1000],
      [6000, 3, 'allowed', 0, 1000],
    ])
  })
})
