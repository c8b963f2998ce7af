import { describe, expect, it } from 'vitest'
import { limitOf } from './scene.suite.ts'
import { SliceSize } from './slice-size.ts'

const sizeOf = (limit = 1_000_000) => new SliceSize(limitOf({ limit, window: '1h' }), undefined)

describe('the size of a slice', () => {
  it.each([
    [5, 5],
    [100, 8],
    [5_000, 50],
    [1_000_000, 100],
  ])('of a limit of %d is %d at first', (limit, first) => {
    expect(sizeOf(limit).ahead(0, 0, 1, 0)).toBe(first)
  })

  it('is what was used in two seconds, at the pace of the time before', () => {
    const size = sizeOf()
    size.ahead(0, 0, 1, 0)
    expect(size.ahead(3_000, 0, 0, 1_500)).toBe(4_000)
    expect(size.ahead(3_300, 0, 0, 3_000)).toBe(400)
    expect(size.ahead(3_300, 0, 0, 9_000)).toBe(100)
  })

  it('outgrows callers that wait, however fast they come', () => {
    const size = sizeOf()
    // 95 come in a millisecond, and an answer takes longer each time.
    let waiting = 5
    let nowMs = 0
    for (let tripMs = 3; tripMs < 100; tripMs *= 2) {
      const ahead = size.ahead(0, 0, waiting, nowMs)
      nowMs += tripMs
      const come = 95 * tripMs
      if (ahead > come) return
      waiting = come - ahead
    }
    expect.fail(`${waiting} wait`)
  })

  it('grows at most eightfold in one step: a few simultaneous requests are no pace', () => {
    const size = sizeOf()
    size.ahead(0, 0, 1, 0)
    expect(size.ahead(0, 0, 20, 1)).toBe(800)
  })

  it('counts what is in hand, but for what waits', () => {
    const size = sizeOf()
    expect(size.ahead(0, 30, 0, 0)).toBe(70)
    expect(sizeOf().ahead(0, 30, 30, 0)).toBe(100)
  })
})
