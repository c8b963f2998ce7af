import { describe, expect, it } from 'vitest'
import { crossed } from './thresholds.ts'

describe('crossed', () => {
  it.each<[used: number, limit: number, reported: number[], expected: number[]]>([
    [0, 100, [], []],
    [49, 100, [], []],
    [50, 100, [], [50]],
    [79, 100, [50], []],
    [80, 100, [50], [80]],
    [100, 100, [], [50, 80, 100]],
    [250, 100, [50], [80, 100]],
    [100, 100, [50, 80, 100], []],
    [1, 3, [], []],
    [2, 3, [], [50]],
    [0, 0, [], []],
    [5, 0, [], []],
  ])('of %d of %d, with %j reported, is %j', (used, limit, reported, expected) => {
    expect(crossed({ used, limit }, new Set(reported))).toEqual(expected)
  })
})
