import { describe, expect, it, test } from 'vitest'
import { nearestIndex, thinned, topOf } from './plot-scale.ts'

describe('the top of a scale', () => {
  test.each([
    [0, 1],
    [1, 1.5],
    [7, 8],
    [95, 100],
    [96, 150],
    [1234, 1500],
    [0.0123, 0.015],
  ])('of %d is %d', (largest, expected) => {
    expect(topOf(largest)).toBe(expected)
  })

  it('stays while values change a little', () => {
    expect([topOf(90, 150), topOf(60, 150), topOf(140, 150)]).toEqual([150, 150, 150])
  })

  it('rises with a value above it, and falls when most of it is unused', () => {
    expect([topOf(149, 150), topOf(50, 150)]).toEqual([200, 60])
  })

  it('is above what is shown, whatever that is', () => {
    for (let value = 1e-6; value < 1e12; value *= 1.37) expect(topOf(value)).toBeGreaterThan(value)
  })
})

describe('the nearest point', () => {
  test.each([
    [-5, 0],
    [0, 0],
    [14, 1],
    [15, 1],
    [16, 2],
    [99, 3],
  ])('to %d is that of place %d', (at, expected) => {
    expect(nearestIndex([0, 10, 20, 30], at)).toBe(expected)
  })

  it('is none without points', () => {
    expect(nearestIndex([], 1)).toBe(-1)
  })
})

describe('a table of many points', () => {
  it('has a few of them, the newest first', () => {
    expect(thinned(10, 4)).toEqual([9, 6, 3, 0])
    expect(thinned(3_600, 30)).toHaveLength(30)
    expect(thinned(2, 30)).toEqual([1, 0])
    expect(thinned(0, 30)).toEqual([])
  })
})
