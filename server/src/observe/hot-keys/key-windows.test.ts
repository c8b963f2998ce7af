import { describe, expect, it } from 'vitest'
import { KeyWindows, WINDOWS } from './key-windows.ts'
import { atOnce } from './steps.ts'

const SIZE = 64
const HOUR_MS = 3_600_000

/** Counts one request of a key named after the minute, every second, and turns four times as often. */
function played(minutes: number): { windows: KeyWindows; nowMs: number } {
  const windows = new KeyWindows(0)
  let nowMs = 0
  for (; nowMs < minutes * 60_000; nowMs += 250) {
    atOnce(windows.turn(nowMs, SIZE, SIZE))
    if (nowMs % 1_000 === 0) windows.add(`minute ${Math.floor(nowMs / 60_000)}`, SIZE)
  }
  return { windows, nowMs }
}

describe('KeyWindows', () => {
  it('shows immediately what was counted last', () => {
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
    expect(windows.heldClosed).toBeLessThan(7 * 2 + 6 * 2 + 7 * 11)
    // And of two hours before, each of 61 minutes.
    expect(windows.held - windows.heldClosed).toBeLessThanOrEqual(2 * 61 + 2)
  })

  it('looks back a day: from 24 to 25 hours and ten minutes, with few keys of each hour', () => {
    const windows = new KeyWindows(0)
    let nowMs = 0
    // A request every ten seconds, and one key in ten of a crowd.
    for (; nowMs < 30 * HOUR_MS; nowMs += 10_000) {
      atOnce(windows.turn(nowMs, SIZE, 8))
      windows.add(nowMs % 100_000 === 0 ? 'busy' : `crowd ${nowMs}`, SIZE)
    }
    const { total, keys, missed } = windows.list(1_440, 3)
    expect(total).toBeGreaterThanOrEqual(24 * 360)
    expect(total).toBeLessThanOrEqual(25.2 * 360)
    expect(keys[0][0]).toBe('busy')
    expect(keys[0][1] + missed).toBeGreaterThanOrEqual((24 * 360) / 10)
    expect(windows.held - windows.heldClosed).toBeLessThanOrEqual(25 * 8 + SIZE)
  })

  it('is quiet when there are no requests for an hour, and forgets all after a day', () => {
    const { windows, nowMs } = played(10)
    for (let at = nowMs; at <= nowMs + 71 * 60_000; at += 10_000) atOnce(windows.turn(at, SIZE, SIZE))
    expect([windows.isQuiet, windows.heldClosed, windows.list(60, 9).total]).toEqual([true, 0, 0])
    expect(windows.list(1_440, 9).total).toBe(600)
    atOnce(windows.turn(nowMs + 25 * HOUR_MS, SIZE, SIZE))
    expect(windows.isEmpty).toBe(true)
    expect(windows.held).toBe(0)
  })

  it('forgets all after one turn that comes late', () => {
    const { windows, nowMs } = played(1)
    atOnce(windows.turn(nowMs + 9 * HOUR_MS, SIZE, SIZE))
    atOnce(windows.turn(nowMs + 34 * HOUR_MS, SIZE, SIZE))
    expect(windows.held).toBe(0)
  })
})
