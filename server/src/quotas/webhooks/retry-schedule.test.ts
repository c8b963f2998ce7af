import { describe, expect, it } from 'vitest'
import { RETRY_DELAYS_MS, retryDelayMs } from './retry-schedule.ts'

describe('retryDelayMs', () => {
  it('waits longer after each attempt, and gives up after the tenth', () => {
    const delays = Array.from({ length: 10 }, (_, i) => retryDelayMs(i + 1, 0))
    expect(delays).toEqual([...RETRY_DELAYS_MS, undefined])
    expect(delays.slice(0, 3)).toEqual([5_000, 300_000, 1_800_000])
  })

  it('adds up to a tenth at random', () => {
    expect(retryDelayMs(1, 0.5)).toBe(5_250)
    expect(retryDelayMs(1, 1)).toBe(5_500)
  })
})
