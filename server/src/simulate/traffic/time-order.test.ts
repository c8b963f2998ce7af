import { describe, expect, it } from 'vitest'
import { TimeOrder } from './time-order.ts'

const START = Date.UTC(2026, 10, 20)

/** Puts lines of these milliseconds in order, and returns the times and the numbers of those that are decided. */
function ordered(times: readonly number[], options: { windowMs?: number; isSpread?: boolean } = {}) {
  const decided: (readonly [timeMs: number, line: number])[] = []
  const order = new TimeOrder<number>({ windowMs: 10_000, isSpread: false, ...options }, ({ timeMs, source }) => {
    decided.push([timeMs - START, source])
  })
  times.forEach((ms, line) => {
    order.push({ timeMs: START + ms, values: [], source: line })
  })
  order.flush()
  return { times: decided.map(([timeMs]) => timeMs), lines: decided.map(([, line]) => line), order }
}

describe('TimeOrder', () => {
  it('puts lines in the order of their times, and leaves those of one time as they came', () => {
    const { times, lines } = ordered([3_000, 1_000, 2_500, 2_500, 2_400, 9_000])
    expect(times).toEqual([1_000, 2_400, 2_500, 2_500, 3_000, 9_000])
    expect(lines).toEqual([1, 4, 2, 3, 0, 5])
  })

  it('takes a line as late as the window, and leaves out one that is later', () => {
    const { times, order } = ordered([0, 20_000, 10_000, 9_999])
    expect(times).toEqual([0, 10_000, 20_000])
    expect(order).toMatchObject({ late: 1, latestMs: 10_001 })
  })

  it('never goes back, whatever comes', () => {
    let seed = 7
    const random = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
      return seed / 2 ** 31
    }
    const all = Array.from({ length: 5_000 }, (_, i) => i * 20 + Math.floor(random() * 30_000) - 15_000)
    const { times, order } = ordered(all.map((ms) => ms + 60_000))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(times.length + order.late).toBe(all.length)
    expect(order.late).toBeGreaterThan(0)
  })

  it('leaves out a single time far ahead, at the start, in between and alone among torn ones', () => {
    const far = 10 * 365 * 86_400_000
    for (const all of [
      [far, 0, 1_000, 2_000],
      [0, far, 1_000, 2_000],
    ]) {
      const { times, order } = ordered(all)
      expect(times).toEqual([0, 1_000, 2_000])
      expect(order).toMatchObject({ astray: 1, late: 0 })
    }
  })

  it('believes a gap that the next line confirms, and the last line', () => {
    const day = 86_400_000
    expect(ordered([0, day, day + 5_000, 3 * day]).times).toEqual([0, day, day + 5_000, 3 * day])
    // A log with a line a week.
    expect(ordered([0, 7 * day, 14 * day, 21 * day]).times).toEqual([0, 7 * day, 14 * day, 21 * day])
  })

  it('passes over a century without a line in no time', () => {
    const century = 100 * 365 * 86_400_000
    expect(ordered([0, 1_000, century, century + 1]).times).toEqual([0, 1_000, century, century + 1])
  })

  it('spaces the requests of one second, unless they have parts of seconds', () => {
    expect(ordered([1_000, 1_000, 1_000, 1_000, 2_000], { isSpread: true }).times).toEqual([
      1_000, 1_250, 1_500, 1_750, 2_000,
    ])
    expect(ordered([1_000, 1_001], { isSpread: true }).times).toEqual([1_000, 1_001])
  })

  it('holds a bounded number of lines', () => {
    const { times, order } = ordered(Array.from({ length: 200_010 }, (_, i) => (i < 200_005 ? 1_000 : 500)))
    expect(times).toHaveLength(200_010)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(order.moved).toBe(5)
  })
})
