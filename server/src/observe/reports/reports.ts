import type { MaybePromise } from 'sluice/internal/engine/ports'
import type { HotKeysReport } from '../hot-keys/hot-keys-report.ts'
import type { LiveReport } from '../live/live-report.ts'
import type { NearLimit } from '../live/near-limits.ts'
import type { RefusedRequest } from '../live/refusals.ts'
import type { ActivityReport } from '../live/rule-activity.ts'
import type { MetricsReport } from '../metrics/metrics-report.ts'
import type { ServiceStats } from './service-stats.ts'

/** What each process that answers requests can be asked for: plain data, which workers send. */
export interface Reports {
  readonly stats: ServiceStats
  /** The report for Prometheus; undefined where metrics are off. */
  readonly metrics: MetricsReport | undefined
  /** What of that counts for ever. It resets nothing. */
  readonly counted: MetricsReport | undefined
  /** Why it cannot take requests; '' if it can. */
  readonly unready: string
  /** Counts in the words of envoyproxy/ratelimit, for StatsD; empty where StatsD is off. */
  readonly statsd: ServiceStats
  readonly hotKeys: HotKeysReport
  /** What was decided since this was last asked for. */
  readonly live: LiveReport
  /** The last refusals, the newest first: about a customer or a key, or all. */
  readonly refusals: readonly RefusedRequest[]
  /** Who has used 80 % of a limit or more, the nearest first. */
  readonly nearLimits: readonly NearLimit[]
  /** API keys that requests have carried, by the ids of their records: about the ids that are asked for. */
  readonly seenKeys: Readonly<Record<string, string>>
  /** What rules did in the last minute and hour. */
  readonly activity: ActivityReport
  /** The ids of API keys' records, by the shown form of the keys: of the keys that are asked for. */
  readonly owners: Readonly<Record<string, string>>
}

export type ReportName = keyof Reports

/** A report that takes a process a while. */
export type SlowReportName = 'hotKeys' | 'owners'
/** A report that a process has immediately. */
export type PlainReportName = Exclude<ReportName, SlowReportName>

/** Returns a report of every process of a node that answers requests. `about` narrows what is asked for. */
export type AskProcesses = <Name extends ReportName>(
  name: Name,
  about?: readonly string[],
) => MaybePromise<readonly Reports[Name][]>

/**
 * Answers with a report of its process: immediately, or later where it is much work. `about` narrows what is asked for.
 */
export type Reporter = {
  readonly [Name in PlainReportName]: (about?: readonly string[]) => Reports[Name]
} & {
  readonly [Name in SlowReportName]: (about?: readonly string[]) => Promise<Reports[Name]>
}
