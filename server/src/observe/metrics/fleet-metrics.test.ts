import { describe, expect, it } from 'vitest'
import { FleetMetrics, type WorkerReport } from './fleet-metrics.ts'
import { labelsOf } from './labels.ts'
import type { MergedMetrics } from './merge-reports.ts'
import { ReportBuilder } from './metrics-report.ts'

const RULE = labelsOf({ domain: 'd', rule: 'r' })

/** What a worker tells that has counted so many hits. */
function reportOf(worker: number, pid: number, hits: number, circuit = 0): WorkerReport {
  const into = new ReportBuilder()
  into.add('ratelimit_hits_total', RULE, hits)
  into.add('ratelimit_memory_keys', '', hits)
  into.add('ratelimit_circuit_state', labelsOf({ shard: 'redis' }), circuit)
  into.add('process_resident_memory_bytes', '', 1_000 * hits)
  into.addRow('ratelimit_redis_batch_decisions', '', new Float64Array(10).fill(hits))
  return { worker, report: { instance: `${pid}`, pid, families: into.build() } }
}

/** Those of a metric, by their labels. */
function values(metrics: MergedMetrics, name: string): Record<string, number[]> {
  const series = metrics.get(name)
  return Object.fromEntries(
    Array.from(series?.list ?? [], ([labels, at]) => [labels, series?.values.slice(at, at + series.width) ?? []]),
  )
}

function hear(fleet: FleetMetrics, ...reports: WorkerReport[]): MergedMetrics {
  for (const report of reports) fleet.heard(report)
  return fleet.merged(reports)
}

describe('FleetMetrics', () => {
  it('adds counters, histograms and amounts up, and takes the worst state', () => {
    const metrics = hear(new FleetMetrics(), reportOf(1, 10, 3), reportOf(2, 11, 4, 2))
    expect(values(metrics, 'ratelimit_hits_total')).toEqual({ [RULE]: [7] })
    expect(values(metrics, 'ratelimit_memory_keys')).toEqual({ '': [7] })
    expect(values(metrics, 'ratelimit_redis_batch_decisions')['']).toEqual(new Array(10).fill(7))
    expect(values(metrics, 'ratelimit_circuit_state')).toEqual({ 'shard="redis"': [2] })
  })

  it('reports the figures of each process with the worker that it is', () => {
    const metrics = hear(new FleetMetrics(), reportOf(1, 10, 3), reportOf(2, 11, 4))
    expect(values(metrics, 'process_resident_memory_bytes')).toEqual({ 'worker="1"': [3_000], 'worker="2"': [4_000] })
  })

  it('keeps what a worker counted that has ended, and forgets its amounts', () => {
    const fleet = new FleetMetrics()
    hear(fleet, reportOf(1, 10, 3), reportOf(2, 11, 4))
    fleet.ended(10)
    const metrics = hear(fleet, reportOf(2, 11, 5), reportOf(1, 12, 1))
    expect(values(metrics, 'ratelimit_hits_total')).toEqual({ [RULE]: [9] })
    expect(values(metrics, 'ratelimit_memory_keys')).toEqual({ '': [6] })
    expect(values(metrics, 'process_resident_memory_bytes')).toEqual({ 'worker="1"': [1_000], 'worker="2"': [5_000] })
  })

  it('counts a worker that does not answer as it last did', () => {
    const fleet = new FleetMetrics()
    hear(fleet, reportOf(1, 10, 3), reportOf(2, 11, 4))
    const metrics = hear(fleet, reportOf(2, 11, 4))
    expect(values(metrics, 'ratelimit_hits_total')).toEqual({ [RULE]: [7] })
    expect(values(metrics, 'ratelimit_memory_keys')).toEqual({ '': [4] })
  })

  it('counts a worker once that ends while others are still asked', () => {
    const fleet = new FleetMetrics()
    const [first, second] = [reportOf(1, 10, 3), reportOf(2, 11, 4)]
    fleet.heard(first)
    fleet.ended(10)
    fleet.heard(second)
    expect(values(fleet.merged([first, second]), 'ratelimit_hits_total')).toEqual({ [RULE]: [7] })
  })
})
