import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { GrpcStats } from '../../grpc/index.ts'
import { DecisionMetrics } from '../../observe/metrics/decision-metrics.ts'
import { keptOf } from '../../observe/metrics/fleet-metrics.ts'
import { labelsOf } from '../../observe/metrics/labels.ts'
import { type MetricsReport, ReportBuilder } from '../../observe/metrics/metrics-report.ts'
import { ProcessMetrics } from '../../observe/metrics/process-metrics.ts'
import { StoreMetrics } from '../../observe/metrics/store-metrics.ts'
import { snakeCase } from '../../observe/reports/service-stats.ts'

/** Adds what it has counted to a report of its process. */
export interface MetricsSource {
  report(into: ReportBuilder): void
}

/** Counts that are kept elsewhere, and read for each report. */
export interface CountedElsewhere {
  store(): Readonly<Record<string, number>>
  grpc(): GrpcStats
}

const INSTANCE = `${process.pid} ${performance.timeOrigin}`

/** The counts of one process that answers requests, for Prometheus. */
export class DoorMetrics {
  readonly decisions: DecisionMetrics
  readonly store = new StoreMetrics()
  readonly #process = new ProcessMetrics()
  readonly #sources: MetricsSource[]

  constructor(rules: () => RuleSet, maxRules: number) {
    this.decisions = new DecisionMetrics(rules, maxRules)
    this.#sources = [this.decisions, this.store, this.#process]
  }

  /** Includes more sources in every report; undefined: the process does not have that part. */
  add(...sources: readonly (MetricsSource | undefined)[]): void {
    for (const source of sources) if (source !== undefined) this.#sources.push(source)
  }

  report(elsewhere: CountedElsewhere): MetricsReport {
    return this.#report(this.#sources, elsewhere)
  }

  /** Returns a report without the figures of the process, which cover the time since the last report, or the moment. */
  counted(elsewhere: CountedElsewhere): MetricsReport {
    const { families, ...rest } = this.#report(
      this.#sources.filter((source) => source !== this.#process),
      elsewhere,
    )
    return { ...rest, families: keptOf(families) }
  }

  #report(sources: readonly MetricsSource[], elsewhere: CountedElsewhere): MetricsReport {
    const into = new ReportBuilder()
    for (const source of sources) source.report(into)
    reportStore(into, elsewhere.store())
    reportGrpc(into, elsewhere.grpc())
    return { instance: INSTANCE, pid: process.pid, families: into.build() }
  }

  stop(): void {
    this.#process.stop()
  }
}

/** The names of the counts of stores: in memory, and behind slices. */
const STORE_COUNTS: readonly (readonly [metric: string, ...counts: string[]])[] = [
  ['ratelimit_slices_held', 'slices'],
  ['ratelimit_slices_budget_held', 'held'],
  ['ratelimit_slices_exchanges_total', 'exchanges'],
  ['ratelimit_slices_evicted_total', 'slicesEvicted'],
  ['ratelimit_slices_recalls_total', 'recalls'],
  ['ratelimit_sampled_counters', 'sampledKeys'],
  ['ratelimit_sampled_dropping', 'sampledDropping'],
  ['ratelimit_sampled_reports_total', 'sampledReports'],
  ['ratelimit_sampled_failures_total', 'sampledFailures'],
  ['ratelimit_peers', 'peers'],
  ['ratelimit_peers_reachable', 'peersReachable'],
  ['ratelimit_peers_partitions_held', 'partitionsHeld'],
  ['ratelimit_peers_partitions_given_total', 'partitionsGiven'],
  ['ratelimit_peers_partitions_received_total', 'partitionsReceived'],
  ['ratelimit_peers_partitions_lost_total', 'partitionsLost'],
  ['ratelimit_peers_asked_total', 'peerDecisionsAsked'],
  ['ratelimit_peers_answered_total', 'peerDecisionsAnswered'],
  ['ratelimit_memory_keys', 'keys', 'localKeys'],
  ['ratelimit_memory_evicted_total', 'evicted', 'localEvicted'],
  ['ratelimit_memory_shared_total', 'shared', 'localShared'],
]

function reportStore(into: ReportBuilder, counts: Readonly<Record<string, number>>): void {
  for (const [metric, ...names] of STORE_COUNTS) {
    into.add(
      metric,
      '',
      names.reduce((sum, name) => sum + (counts[name] ?? 0), 0),
    )
  }
}

function reportGrpc(into: ReportBuilder, stats: GrpcStats): void {
  const { connectionsOpen, callsAnswered, callsFailed, callsCancelled, closedFor } = stats
  into.add('ratelimit_grpc_connections', '', connectionsOpen)
  for (const [status, count] of Object.entries({ ok: callsAnswered, failed: callsFailed, cancelled: callsCancelled })) {
    into.add('ratelimit_grpc_calls_total', labelsOf({ status }), count)
  }
  for (const [reason, count] of Object.entries(closedFor)) {
    into.add('ratelimit_grpc_closed_total', labelsOf({ reason: snakeCase(reason) }), count)
  }
}
