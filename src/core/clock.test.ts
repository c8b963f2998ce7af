import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SteadyClock } from './clock.ts'

const T = 1_790_000_000_000
const DAY_MS = 86_400_000

/** A Move lets time pass, and then sets the wall clock forward or back. */
type Move = readonly [elapsedMs: number, setByMs: number]

/** Lists what a SteadyClock shows after each move, and what the wall showed. */
function readings(moves: readonly Move[]): { wallMs: number[]; shownMs: number[] } {
  let [wall, monotonic] = [T, 5000]
  const clock = new SteadyClock(
    () => wall,
    () => monotonic,
  )
  const wallMs: number[] = []
  const shownMs = moves.map(([elapsedMs, setByMs]) => {
    monotonic += elapsedMs
    wall += elapsedMs + setByMs
    wallMs.push(wall)
    return clock.nowMs()
  })
  return { wallMs, shownMs }
}

const elapsed = fc.oneof(fc.nat(20), fc.nat(1500), fc.nat(100_000))
const anySetting = fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: -50_000, max: 50_000 }))
const moves = fc.array(fc.tuple(elapsed, anySetting), { minLength: 2, maxLength: 40 })

describe('SteadyClock', () => {
  it('shows a wall clock that no one sets', () => {
    fc.assert(
      fc.property(fc.array(elapsed), (elapsedMs) => {
        const { wallMs, shownMs } = readings(elapsedMs.map((ms) => [ms, 0]))
        expect(shownMs).toEqual(wallMs)
      }),
    )
  })

  it('follows a step forward within a second, however far', () => {
    const year = 365 * DAY_MS
    const { shownMs } = readings([
      [10, 0],
      [10, year],
      [979, 0],
      [1, 0],
      [1, 0],
    ])
    expect(shownMs).toEqual([T + 10, T + 20, T + 999, T + year + 1000, T + year + 1001])
  })

  it('continues an eighth slower after a step back, until the wall has caught up', () => {
    const { shownMs } = readings([
      [1000, -200],
      [400, 0],
      [600, 0],
      [400, 0],
      [600, 0],
      [1000, 0],
    ])
    expect(shownMs).toEqual([T + 1000, T + 1350, T + 1875, T + 2245, T + 2800, T + 3800])
  })

  it('never goes back, and never stands still', () => {
    fc.assert(
      fc.property(moves, (taken) => {
        const { shownMs } = readings(taken)
        for (let index = 1; index < shownMs.length; index++) {
          const goneMs = shownMs[index]! - shownMs[index - 1]!
          expect(goneMs).toBeGreaterThanOrEqual(Math.floor((taken[index]![0] * 7) / 8))
        }
      }),
      {
        numRuns: 300,
        examples: [
          [
            [
              [999, -200],
              [1, 0],
            ],
          ],
        ],
      },
    )
  })

  it('shows the wall again once eight times the step back has passed', () => {
    fc.assert(
      fc.property(moves, fc.integer({ min: 1, max: 20_000 }), (taken, backMs) => {
        const settling: Move[] = [
          [DAY_MS, 0],
          [DAY_MS, 0],
        ]
        const catchingUp: Move[] = Array.from({ length: Math.ceil((8 * backMs) / 1000) + 2 }, () => [1000, 0])
        const { wallMs, shownMs } = readings([...taken, ...settling, [1000, -backMs], ...catchingUp])
        expect(Math.abs(shownMs.at(-1)! - wallMs.at(-1)!)).toBeLessThanOrEqual(1)
      }),
      { numRuns: 50 },
    )
  })

  it('shows whole milliseconds', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 3000, noNaN: true })), (elapsedMs) => {
        expect(readings(elapsedMs.map((ms) => [ms, 0])).shownMs.every(Number.isInteger)).toBe(true)
      }),
    )
  })
})
