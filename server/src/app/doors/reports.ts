import type { HotKeysReport } from '../../observe/hot-keys/hot-keys-report.ts'
import type { MetricsReport } from '../../observe/metrics/metrics-report.ts'
import type { ServiceStats } from './service-stats.ts'

/** Reports are what each process that answers requests can be asked for: plain data, which workers send. */
export interface Reports {
  readonly stats: ServiceStats
  /** What Prometheus is told; undefined where metrics are off. */
  readonly metrics: MetricsReport | undefined
  /** What of that counts for ever. It resets nothing. */
  readonly counted: MetricsReport | undefined
  /** Why it cannot take requests; '' if it can. */
  readonly unready: string
  /** Counts in the words of envoyproxy/ratelimit, for StatsD; of nothing where nobody asked for that. */
  readonly statsd: ServiceStats
  readonly hotKeys: HotKeysReport
}

export type ReportName = keyof Reports

/** A Reporter answers with a report of its process: at once, or after a while where it is much work. */
export type Reporter = { readonly [Name in Exclude<ReportName, 'hotKeys'>]: () => Reports[Name] } & {
  readonly hotKeys: () => Promise<Reports['hotKeys']>
}
