import type { RuleOrigin } from 'sluice/internal/engine/live-rules'
import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { WorkerState } from '../admin/nodes/node-note.ts'
import type { NodeHealth } from '../edge/health/health.ts'
import type { MergedMetrics } from '../observe/metrics/merge-reports.ts'
import type { AskProcesses } from '../observe/reports/reports.ts'
import type { ServiceStats } from '../observe/reports/service-stats.ts'
import type { CountsReport } from '../observe/statsd/statsd-counts.ts'
import type { LiveQuotas, QuotaOrigin, QuotaSink } from '../quotas/book/live-quotas.ts'
import type { DecisionOutlet } from './decisions/decision-outlet.ts'
import type { DoorName } from './doors/door.ts'
import type { Doors } from './doors/doors.ts'
import type { ListenAddress } from './doors/listen.ts'
import type { FollowedRules } from './follow-rules.ts'
import type { RoutesInForce, RoutesSource } from './gateway/routes-source.ts'
import type { Log } from './log/log.ts'
import type { NodeData } from './node-data.ts'
import type { NodeState } from './node-metrics.ts'
import type { PassedOverLog } from './quotas/passed-over-log.ts'
import type { Config } from './settings/config.ts'

/** What processes are created with. */
export interface ProcessParts {
  readonly config: Config
  readonly log: Log
  /** The database of the node, if it has one. */
  readonly data: NodeData | undefined
  /** Where quotas come from, if there are any. */
  readonly origin: QuotaOrigin | undefined
  /** The routes of the gateway, if there is one. */
  readonly routes: RoutesSource | undefined
  /** Writes the decision log, if there is one. */
  readonly outlet: DecisionOutlet | undefined
  /** Returns the rules in force, once there are any. */
  readonly rules: () => FollowedRules
}

/** The processes of a node that answer requests: this one, or its workers. */
export interface Processes extends Pick<NodeState, 'workers' | 'isPrimary'> {
  readonly storeName: string
  /** Rejects when requests can no longer be answered. */
  readonly failed: Promise<never>
  /** The counters of the only process, if they are in its memory. */
  readonly counters: Doors['counters'] | undefined
  /** Reads one report of every process. */
  readonly ask: AskProcesses
  /** Logs records of quotas that are invalid, if this process decides by them. */
  readonly passedOver?: PassedOverLog | undefined
  /** Receives every change of the rules, with their parts, if processes need those. */
  readonly rulesChanged?: (from: RuleOrigin) => void
  /** Returns what puts quotas in force: in `quotas`, and in every process. */
  sinkFor(quotas: LiveQuotas): QuotaSink
  /** Prepares what ports need before they open. The first rules are in force by now; quotas may be. */
  open(quotas: LiveQuotas | undefined): Promise<void>
  /** Opens the port of a door, and returns its address. */
  listen(door: DoorName, at: ListenAddress): Promise<string>
  /** Gives the gateway other routes. */
  setRoutes(routes: RoutesInForce): void
  /** Has health checks say what the node says. */
  hear(health: NodeHealth): void
  /** Resolves when requests are answered. */
  start(): Promise<void>
  /** Fails health checks, answers the requests in flight, and ends. Calls `flush` while counts can still be read. */
  stop(flush: () => Promise<void>): Promise<void>
  /** Ends what would outlive this process immediately, and has stop() not wait. */
  kill(): void
  stats(): MaybePromise<ServiceStats>
  metrics(): MaybePromise<MergedMetrics>
  statsd(): MaybePromise<readonly CountsReport[]>
  /** Why the node takes no requests; '' if it does. */
  unready(): MaybePromise<string>
  /** Every process, for people. */
  list(): readonly Omit<WorkerState, 'decisionsPerSecond'>[]
}
