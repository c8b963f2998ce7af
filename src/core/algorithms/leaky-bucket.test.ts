import { describe, it } from 'vitest'
import type { LimitOptions } from '../limit.ts'
import { expectRows } from './table.suite.ts'

const tenPerSecond: LimitOptions = { algorithm: 'leaky_bucket', limit: 10, window: '1s', burst: 3 }

describe('leaky_bucket', () => {
  it('lets the first hit go immediately, and delays those behind it by one interval each', () => {
    expectRows(tenPerSecond, [
      [0, 1, 'allowed', 2, 100],
      [0, 1, 'allowed', 1, 200, 100],
      [0, 1, 'allowed', 0, 300, 200],
      [0, 1, 'refused', 0, 300, 100],
      [100, 1, 'allowed', 0, 300, 200],
      [350, 1, 'allowed', 1, 150, 50],
      [500, 1, 'allowed', 2, 100],
    ])
  })

  it('rounds a delay up to a whole millisecond: no hit leaves before its turn', () => {
    expectRows({ algorithm: 'leaky_bucket', limit: 7, window: '1s' }, [
      [0, 1, 'allowed', 6, 143],
      [0, 1, 'allowed', 5, 286, 143],
      [0, 1, 'allowed', 4, 429, 286],
      [0, 1, 'allowed', 3, 572, 429],
    ])
  })

  it('counts a weighted hit as that many, and delays it by what is before it', () => {
    expectRows(tenPerSecond, [
      [0, 2, 'allowed', 1, 200],
      [0, 1, 'allowed', 0, 300, 200],
      [200, 2, 'allowed', 0, 300, 100],
      [200, 4, 'impossible', 0, 300, 3],
    ])
  })

  it('does not charge or delay a look, nor charge a refusal', () => {
    expectRows(tenPerSecond, [
      [0, 0, 'allowed', 3, 0],
      [0, 2, 'allowed', 1, 200],
      [0, 0, 'allowed', 1, 200],
      [0, 2, 'refused', 1, 200, 100],
      [0, 1, 'allowed', 0, 300, 200],
    ])
  })

  it('takes a refund from the queue, never more than is in it', () => {
    expectRows(tenPerSecond, [
      [0, 3, 'allowed', 0, 300],
      [0, -1, 'allowed', 1, 200],
      [0, 1, 'allowed', 0, 300, 200],
      [0, -99, 'allowed', 3, 0],
      [0, 1, 'allowed', 2, 100],
    ])
  })

  it('blocks everything but refunds when the limit is 0, and names its window as the reset', () => {
    expectRows({ algorithm: 'leaky_bucket', limit: 0, window: '1s' }, [
      [0, 1, 'impossible', 0, 1000, 0],
      [9, 0, 'impossible', 0, 1000, 0],
      [9, -1, 'allowed', 0, 0],
    ])
  })

  it('puts refusals into the queue with countDenied, at most one bucket beyond the full one', () => {
    expectRows({ ...tenPerSecond, countDenied: true }, [
      [0, 3, 'allowed', 0, 300],
      [0, 1, 'refused', 0, 400, 200],
      [0, 3, 'refused', 0, 600, 600],
      [400, 1, 'allowed', 0, 300, 200],
    ])
  })

  it('delays no longer than for a full bucket, however far the clock goes back', () => {
    expectRows(tenPerSecond, [
      [90_000, 1, 'allowed', 2, 100],
      [89_900, 1, 'allowed', 0, 300, 200],
      [1000, 1, 'refused', 0, 300, 100],
      [1100, 1, 'allowed', 0, 300, 200],
    ])
  })
})
