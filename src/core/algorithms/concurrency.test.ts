import { describe, it } from 'vitest'
import type { LimitOptions } from '../limit.ts'
import { expectRows } from './table.suite.ts'

const twoAtOnce: LimitOptions = { algorithm: 'concurrency', limit: 2, leaseTtl: '30s' }

describe('concurrency', () => {
  it('admits as many holders as the limit, and another when one releases', () => {
    expectRows(twoAtOnce, [
      [0, 1, 'allowed', 1, 30_000],
      [10, 1, 'allowed', 0, 30_000],
      [20, 1, 'refused', 0, 29_990, 29_980],
      [30, -1, 'allowed', 1, 29_970],
      [40, 1, 'allowed', 0, 30_000],
    ])
  })

  it('brings back the permit of a holder that never releases it when its time is over', () => {
    expectRows(twoAtOnce, [
      [0, 2, 'allowed', 0, 30_000],
      [29_999, 1, 'refused', 0, 1, 1],
      [30_000, 1, 'allowed', 1, 30_000],
    ])
  })

  it('looks without holding, and gives back no more than is held', () => {
    expectRows(twoAtOnce, [
      [0, 0, 'allowed', 2, 0],
      [0, 1, 'allowed', 1, 30_000],
      [0, -5, 'allowed', 2, 0],
      [0, 2, 'allowed', 0, 30_000],
      [0, 0, 'refused', 0, 30_000, 30_000],
    ])
  })

  it('calls a cost above the limit impossible', () => {
    expectRows(twoAtOnce, [[0, 3, 'impossible', 2, 30_000, 2]])
    expectRows({ ...twoAtOnce, limit: 0 }, [[0, 1, 'impossible', 0, 30_000, 0]])
  })

  it('holds no permit for longer than its time when the clock goes back', () => {
    expectRows(twoAtOnce, [
      [100_000_000, 2, 'allowed', 0, 30_000],
      [5000, 1, 'refused', 0, 30_000, 30_000],
      [35_000, 1, 'allowed', 1, 30_000],
    ])
  })
})
