import { describe, expect, it } from 'vitest'
import { readMetrics } from './prometheus-text.ts'
import { METRICS, type Sample, viewOf } from './top-view.ts'

function sampleOf(atMs: number, stats: Record<string, number>, text?: string): Sample {
  return { atMs, stats, metrics: text === undefined ? undefined : readMetrics(text, METRICS), hotKeys: undefined }
}

const METRICS_TEXT = (n: number) => `
ratelimit_requests_total{outcome="allowed",door="rls"} ${80 * n}
ratelimit_requests_total{outcome="denied",door="rls"} ${20 * n}
ratelimit_check_duration_seconds_bucket{door="rls",le="0.001"} ${100 * n}
ratelimit_check_duration_seconds_bucket{door="rls",le="+Inf"} ${100 * n}
ratelimit_circuit_state{shard="a"} 0
ratelimit_circuit_state{shard="b"} 2
ratelimit_redis_errors_total{shard="a",reason="timeout"} ${n}
ratelimit_fallback_total{mode="local",reason="timeout"} ${4 * n}
ratelimit_redis_duration_seconds_sum{shard="a"} ${0.02 * n}
ratelimit_redis_duration_seconds_count{shard="a"} ${10 * n}
`

describe('viewOf', () => {
  it('shows what metrics say happened in between', () => {
    const view = viewOf('http://a', sampleOf(0, {}, METRICS_TEXT(1)), sampleOf(2_000, {}, METRICS_TEXT(3)))
    expect(view).toEqual({
      time: '1970-01-01T00:00:02.000Z',
      admin: 'http://a',
      counted: 'decisions',
      perSecond: 100,
      refusedPerSecond: 20,
      p50Ms: 0.5,
      p99Ms: 0.99,
      store: { circuit: 'open', errorsPerSecond: 1, fallbacksPerSecond: 4, callMs: 2 },
      hotKeys: null,
    })
  })

  it('shows hits of /stats where there are no metrics, and knows no latency', () => {
    const stats = (n: number) => ({
      'ratelimit.service.rate_limit.api.user.total_hits': 50 * n,
      'ratelimit.service.rate_limit.api.user.over_limit': 10 * n,
      'sluice.redis.calls': 5 * n,
      'sluice.redis.call_us': 1_000 * n,
      'sluice.fallback.open': n,
      'sluice.fallback.reason.timeout': n,
      'sluice.redis.faults.timeout': n,
    })
    expect(viewOf('http://a', sampleOf(0, stats(1)), sampleOf(1_000, stats(2)))).toMatchObject({
      counted: 'hits',
      perSecond: 50,
      refusedPerSecond: 10,
      p50Ms: null,
      p99Ms: null,
      store: { circuit: null, errorsPerSecond: 1, fallbacksPerSecond: 1, callMs: 0.2 },
    })
  })

  it('knows nothing of a store that is not shared', () => {
    const { store } = viewOf('http://a', sampleOf(0, {}), sampleOf(1_000, {}))
    expect(store).toEqual({ circuit: null, errorsPerSecond: null, fallbacksPerSecond: null, callMs: null })
  })

  it('shows nothing below 0 when the service was restarted', () => {
    const view = viewOf('http://a', sampleOf(0, {}, METRICS_TEXT(9)), sampleOf(1_000, {}, METRICS_TEXT(1)))
    expect(view).toMatchObject({ perSecond: 0, refusedPerSecond: 0, p99Ms: 0.99 })
  })
})
