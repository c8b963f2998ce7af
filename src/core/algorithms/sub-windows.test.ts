import { describe, it } from 'vitest'
import type { LimitOptions } from '../limit.ts'
import { expectRows } from './table.suite.ts'

const fourPerSecond: LimitOptions = { limit: 4, window: '1s', subWindows: 10 }

describe('sliding_window with sub-windows', () => {
  it('counts a hit as if it had come at the last millisecond of its sub-window', () => {
    expectRows(fourPerSecond, [
      [5000, 2, 'allowed', 2, 1099],
      [5099, 1, 'allowed', 1, 1000],
      [5100, 1, 'allowed', 0, 1099],
      [5100, 1, 'refused', 0, 1099, 999],
      [6098, 1, 'refused', 0, 101, 1],
      [6099, 3, 'allowed', 0, 1000],
      [6198, 1, 'refused', 0, 901, 1],
      [6199, 1, 'allowed', 0, 1000],
    ])
  })

  it('rounds a sub-window up to whole milliseconds', () => {
    expectRows({ limit: 1, window: 10, subWindows: 3 }, [
      [0, 1, 'allowed', 0, 13],
      [12, 1, 'refused', 0, 1, 1],
      [13, 1, 'allowed', 0, 12],
    ])
  })

  it('does not charge a look or a refusal, and takes refunds from the newest', () => {
    expectRows(fourPerSecond, [
      [0, 0, 'allowed', 4, 0],
      [0, 3, 'allowed', 1, 1099],
      [500, 1, 'allowed', 0, 1099],
      [500, 2, 'refused', 0, 1099, 599],
      [600, -2, 'allowed', 2, 499],
      [600, -9, 'allowed', 4, 0],
    ])
  })

  it('calls a cost above the limit impossible', () => {
    expectRows(fourPerSecond, [[0, 5, 'impossible', 4, 1000, 4]])
  })

  it('charges refusals with countDenied, and keeps no more hits than it needs', () => {
    expectRows({ ...fourPerSecond, countDenied: true }, [
      [0, 4, 'allowed', 0, 1099],
      [100, 2, 'refused', 0, 1099, 999],
      [1098, 2, 'refused', 0, 1001, 101],
      [1199, 2, 'allowed', 0, 1000],
    ])
  })
})
