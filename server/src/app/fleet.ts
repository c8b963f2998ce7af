import type { MaybePromise } from 'sluice/internal/engine/ports'
import { type MergedMetrics, mergeInto } from '../observe/metrics/merge-reports.ts'
import type { CountsReport } from '../observe/statsd/statsd-counts.ts'
import type { Doors } from './doors/doors.ts'
import type { ServiceStats } from './doors/service-stats.ts'
import type { NodeState } from './node-metrics.ts'
import type { Primary } from './workers/primary.ts'

/** A Fleet is the processes that answer requests, or the one that does. */
export interface Fleet extends Pick<NodeState, 'workers' | 'isPrimary'> {
  stats(): MaybePromise<ServiceStats>
  /** What they have counted. */
  metrics(): MaybePromise<MergedMetrics>
  statsd(): MaybePromise<readonly CountsReport[]>
  unready(): MaybePromise<string>
}

/** fleetOfOne is the fleet of a service without workers. */
export function fleetOfOne({ reports }: Doors): Fleet {
  return {
    isPrimary: false,
    workers: () => ({ ready: 1, starting: 0 }),
    stats: reports.stats,
    metrics: () => {
      const merged: MergedMetrics = new Map()
      mergeInto(merged, reports.metrics()?.families ?? {}, '1')
      return merged
    },
    statsd: () => [{ process: '1', counts: reports.statsd() }],
    unready: reports.unready,
  }
}

/** fleetOf is the fleet of a service with workers. */
export function fleetOf(primary: Primary): Fleet {
  return {
    isPrimary: true,
    workers: () => primary.workerStates(),
    stats: () => primary.stats(),
    metrics: () => primary.metrics(),
    statsd: () => primary.statsdCounts(),
    unready: () => primary.unready(),
  }
}
