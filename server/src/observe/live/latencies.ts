/** Four buckets for each doubling, from 2^-10 ms (a microsecond) to 2^14 ms. */
const PER_DOUBLING = 4
const LOWEST = -10
export const LATENCY_BUCKETS = 96

/** latencyBucket is where a time is counted. */
export function latencyBucket(ms: number): number {
  const at = Math.floor((Math.log2(ms) - LOWEST) * PER_DOUBLING)
  return at >= 0 ? Math.min(at, LATENCY_BUCKETS - 1) : 0
}

/** quantileMs is the time that a share of requests did not exceed, as the upper end of its bucket; 0 where there were none. */
export function quantileMs(latencies: readonly number[], share: number): number {
  const total = latencies.reduce((sum, count) => sum + count, 0)
  if (total === 0) return 0
  let left = Math.ceil(total * share)
  for (let at = 0; at < latencies.length; at++) {
    left -= latencies[at]
    if (left <= 0) return Number((2 ** ((at + 1) / PER_DOUBLING + LOWEST)).toPrecision(3))
  }
  return 0
}
