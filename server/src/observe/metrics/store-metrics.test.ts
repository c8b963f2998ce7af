import { StoreFault } from 'sluice/internal/engine/store-fault'
import { describe, expect, it } from 'vitest'
import { ReportBuilder } from './metrics-report.ts'
import { StoreMetrics } from './store-metrics.ts'

/** The series of a metric that are not 0: of a histogram, how many were counted. */
function seriesOf(metrics: StoreMetrics, name: string): Record<string, number> {
  const into = new ReportBuilder()
  metrics.report(into)
  const { labels, values } = into.build()[name] ?? { labels: [], values: new Float64Array() }
  const width = values.length / labels.length
  const counts = labels.map((_, i) => {
    const row = values.subarray(i * width, (i + 1) * width)
    return width === 1 ? row[0] : row.subarray(0, -1).reduce((sum, each) => sum + each, 0)
  })
  return Object.fromEntries(labels.flatMap((label, i) => (counts[i] === 0 ? [] : [[label, counts[i]]])))
}

describe('StoreMetrics', () => {
  it('counts calls and how they failed, shard by shard', () => {
    const metrics = new StoreMetrics()
    metrics.callEnded('a:1', 1, 4, undefined)
    metrics.callEnded('b:1', 6, 1, new StoreFault('timeout', 'b:1', 'no answer'))
    metrics.callEnded('b:1', 6, 1, new StoreFault('timeout', 'b:1', 'no answer'))
    expect(seriesOf(metrics, 'ratelimit_redis_duration_seconds')).toEqual({ 'shard="a:1"': 1, 'shard="b:1"': 2 })
    expect(seriesOf(metrics, 'ratelimit_redis_errors_total')).toEqual({ 'shard="b:1",reason="timeout"': 2 })
    expect(seriesOf(metrics, 'ratelimit_redis_batch_decisions')).toEqual({ '': 3 })
  })

  it('says that a circuit is open while there is no connection, shard by shard, whatever its breaker says', () => {
    const metrics = new StoreMetrics()
    for (const shard of ['a:1', 'b:1']) metrics.connected(shard)
    metrics.disconnected('a:1')
    expect(seriesOf(metrics, 'ratelimit_circuit_state')).toEqual({ 'shard="a:1"': 2 })
    metrics.breakerChanged('a:1', 'half_open')
    metrics.connected('a:1')
    expect(seriesOf(metrics, 'ratelimit_circuit_state')).toEqual({ 'shard="a:1"': 1 })
    metrics.breakerChanged('a:1', 'closed')
    expect(seriesOf(metrics, 'ratelimit_circuit_state')).toEqual({})
  })

  it('reports the state of each circuit breaker, 0 from the first connection on', () => {
    const metrics = new StoreMetrics()
    metrics.connected('a:1')
    for (const state of ['open', 'half_open', 'closed', 'open'] as const) metrics.breakerChanged('b:1', state)
    const into = new ReportBuilder()
    metrics.report(into)
    const { labels, values } = into.build().ratelimit_circuit_state
    expect([labels, [...values]]).toEqual([
      ['shard="a:1"', 'shard="b:1"'],
      [0, 2],
    ])
    metrics.breakerChanged('b:1', 'half_open')
    expect(seriesOf(metrics, 'ratelimit_circuit_state')).toEqual({ 'shard="b:1"': 1 })
  })

  it('counts verdicts without the store by what was done and why', () => {
    const metrics = new StoreMetrics()
    metrics.fellBack('open', 'timeout')
    metrics.fellBack('local', 'breaker_open')
    metrics.fellBack('local', 'breaker_open')
    expect(seriesOf(metrics, 'ratelimit_fallback_total')).toEqual({
      'mode="open",reason="timeout"': 1,
      'mode="local",reason="breaker_open"': 2,
    })
  })

  it('counts shards beyond what a cluster has together', () => {
    const metrics = new StoreMetrics()
    for (let i = 0; i < 300; i++) metrics.callEnded(`${i}`, 1, 1, undefined)
    const counted = seriesOf(metrics, 'ratelimit_redis_duration_seconds')
    expect(Object.keys(counted)).toHaveLength(257)
    expect(counted['shard="other"']).toBe(44)
  })
})
