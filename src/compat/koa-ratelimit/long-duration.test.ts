import { describe, expect, it } from 'vitest'
import { longDuration } from './long-duration.ts'

describe('longDuration', () => {
  it.each([
    [1, '1 ms'],
    [999, '999 ms'],
    [1_000, '1 second'],
    [1_500, '2 seconds'],
    [3_599_999, '60 minutes'],
    [3_600_000, '1 hour'],
    [172_800_000, '2 days'],
  ])('formats %i as %s', (ms, text) => {
    expect(longDuration(ms)).toBe(text)
  })
})
