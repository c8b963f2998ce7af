import { describe, expect, it } from 'vitest'
import { TwoGenerations } from './two-generations.ts'

describe('TwoGenerations', () => {
  /** Holds the numbers from 0 on, each under itself. */
  const filled = (size: number, count: number): TwoGenerations<number, number> => {
    const map = new TwoGenerations<number, number>(size)
    for (let i = 0; i < count; i++) map.set(i, i)
    return map
  }
  /** The keys that are known after so many. Each is looked for in a map of its own: a look changes the map. */
  const held = (size: number, count: number): number[] =>
    Array.from({ length: count }, (_, i) => i).filter((i) => filled(size, count).get(i) !== undefined)

  it.each([1, 9, 10, 11, 19, 20, 25, 100])('holds the last ten of %i keys, and never twice as many', (count) => {
    const all = Array.from({ length: count }, (_, i) => i)
    expect(held(10, count).slice(-10)).toEqual(all.slice(-10))
    expect(held(10, count).length).toBeLessThan(20)
  })

  it('keeps what is used, whatever comes', () => {
    const map = filled(10, 1)
    for (let i = 1; i < 1_000; i++) {
      expect(map.get(0)).toBe(0)
      map.set(i, i)
    }
  })

  it('answers with what was set last', () => {
    const map = filled(10, 10)
    map.set(3, 30)
    for (let i = 100; i < 105; i++) map.set(i, i)
    expect(map.get(3)).toBe(30)
  })
})
