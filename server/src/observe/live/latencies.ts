/** Four buckets for each doubling, of microseconds: up to four of them each has its own. */
const PER_DOUBLING = 4
export const LATENCY_BUCKETS = 96

/**
 * Returns where a time is counted: by its highest bit, and the two below. It takes no logarithm, every decision asks.
 */
export function latencyBucket(ms: number): number {
  const us = Math.min(ms * 1_000, MAX_US) | 0
  if (us < PER_DOUBLING) return Math.max(0, us)
  const exponent = 31 - Math.clz32(us)
  return (exponent - 1) * PER_DOUBLING + ((us >>> (exponent - 2)) & (PER_DOUBLING - 1))
}

/** Seventeen seconds: more is counted as that. */
const MAX_US = 2 ** 24 - 1

/** Returns where a bucket ends. */
function upperEndMs(bucket: number): number {
  if (bucket < PER_DOUBLING) return (bucket + 1) / 1_000
  const exponent = Math.floor(bucket / PER_DOUBLING) + 1
  return ((PER_DOUBLING + (bucket % PER_DOUBLING) + 1) * 2 ** (exponent - 2)) / 1_000
}

/**
 * Returns the time that a share of requests did not exceed, as the upper end of its bucket; 0 where there were none.
 */
export function quantileMs(latencies: readonly number[], share: number): number {
  const total = latencies.reduce((sum, count) => sum + count, 0)
  if (total === 0) return 0
  let left = Math.ceil(total * share)
  for (let at = 0; at < latencies.length; at++) {
    left -= latencies[at]
    if (left <= 0) return upperEndMs(at)
  }
  return 0
}
