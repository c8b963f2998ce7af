import { describe, expect, it } from 'vitest'
import { LATENCY_BUCKETS, latencyBucket, quantileMs } from './latencies.ts'

/** One time, counted. */
function only(...times: readonly number[]): number[] {
  const counts = new Array<number>(LATENCY_BUCKETS).fill(0)
  for (const ms of times) counts[latencyBucket(ms)]++
  return counts
}

describe('times in buckets', () => {
  it('are reported within a quarter, and never as less', () => {
    for (let ms = 0.004; ms < 16_000; ms *= 1.07) {
      const received = quantileMs(only(ms), 0.5)
      expect(received, `${ms}`).toBeGreaterThanOrEqual(Math.floor(ms * 1_000) / 1_000)
      expect(received, `${ms}`).toBeLessThanOrEqual(ms * 1.25 + 0.001)
    }
  })

  it.each([0, -1, 0.0001, 1e9, Number.POSITIVE_INFINITY])('of %d ms have one', (ms) => {
    const bucket = latencyBucket(ms)
    expect([bucket >= 0, bucket < LATENCY_BUCKETS]).toEqual([true, true])
  })

  it('rise with the time', () => {
    const buckets = Array.from({ length: 5_000 }, (_, us) => latencyBucket(us / 1_000))
    expect(buckets).toEqual([...buckets].sort((a, b) => a - b))
  })

  it('know their quantiles', () => {
    const counts = only(...new Array<number>(99).fill(1), 500)
    expect([quantileMs(counts, 0.5) < 1.3, quantileMs(counts, 0.99) < 1.3, quantileMs(counts, 1) >= 500]).toEqual([
      true,
      true,
      true,
    ])
    expect(quantileMs(only(), 0.99)).toBe(0)
  })
})
