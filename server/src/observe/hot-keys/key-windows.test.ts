import { describe, expect, it } from 'vitest'
import { KeyWindows, WINDOWS } from './key-windows.ts'
import { atOnce } from './steps.ts'

const SIZE = 64

/** played counts one request of a key named after the minute, every second, and turns four times as often. */
function played(minutes: number): { windows: KeyWindows; nowMs: number } {
  const windows = new KeyWindows(0)
  let nowMs = 0
  for (; nowMs < minutes * 60_000; nowMs += 250) {
    atOnce(windows.turn(nowMs, SIZE))
    if (nowMs % 1_000 === 0) windows.add(`minute ${Math.floor(nowMs / 60_000)}`, SIZE)
  }
  return { windows, nowMs }
}

describe('KeyWindows', () => {
  it('shows at once what was counted last', () => {
    const windows = new KeyWindows(0)
    windows.add('a', SIZE)
    for (const minutes of WINDOWS) expect(windows.list(minutes, 9).keys).toEqual([['a', 1]])
  })

  it.each([
    [1, 60, 80],
    [5, 300, 370],
    [60, 3_600, 4_210],
  ] as const)('looks back %d minutes: from %d to %d seconds', (minutes, atLeast, atMost) => {
    for (const offset of [0, 0.3, 0.9]) {
      const { windows } = played(180 + offset * 10)
      const { total } = windows.list(minutes, 9)
      expect(total).toBeGreaterThanOrEqual(atLeast)
      expect(total).toBeLessThanOrEqual(atMost)
    }
  })

  it('keeps few slices, however long it runs', () => {
    const { windows } = played(180)
    // One key in each slice, two where a slice spans the end of a minute, eleven in one of ten minutes.
    expect(windows.held).toBeLessThan(7 * 2 + 6 * 2 + 7 * 11)
  })

  it('forgets all when there are no requests for an hour', () => {
    const { windows, nowMs } = played(10)
    for (let at = nowMs; at <= nowMs + 71 * 60_000; at += 10_000) atOnce(windows.turn(at, SIZE))
    expect(windows.isEmpty).toBe(true)
    expect(windows.held).toBe(0)
  })

  it('forgets all after one turn that comes late', () => {
    const { windows, nowMs } = played(1)
    atOnce(windows.turn(nowMs + 9 * 3_600_000, SIZE))
    atOnce(windows.turn(nowMs + 18 * 3_600_000, SIZE))
    expect(windows.held).toBe(0)
  })
})
