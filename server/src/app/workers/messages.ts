import type { RuleInput } from 'sluice/internal/core/rules/load'
import type { RulePart } from 'sluice/internal/core/rules/packed-rules'
import type { NodeHealth } from '../../edge/health/health.ts'
import type { MetricsReport } from '../../observe/metrics/metrics-report.ts'
import type { ReportName, Reports } from '../../observe/reports/reports.ts'
import type { InForce } from '../../quotas/book/in-force.ts'
import type { UsageNews } from '../../quotas/usage/usage-news.ts'
import type { DoorName } from '../doors/door.ts'
import type { LogEntry } from '../log/log-entry.ts'
import type { Config } from '../settings/config.ts'
import type { QuotaNews } from './quota-feed.ts'

/** What the primary tells a worker. A `connection` comes with its socket, and is to be acknowledged. */
export type ToWorker =
  | {
      readonly type: 'start'
      readonly id: number
      readonly config: Config
      readonly inputs: readonly RuleInput[]
      readonly health: NodeHealth
      /** The routes file of the gateway, where there is one. */
      readonly routes: RuleInput | undefined
      /** Undefined: there are none. */
      readonly quotas: Extract<QuotaNews, { type: 'quotas' }> | undefined
    }
  /** With the routes of a gateway that go with them. */
  | { readonly type: 'rules'; readonly inputs: readonly RuleInput[]; readonly routes: RuleInput | undefined }
  | { readonly type: 'routes'; readonly input: RuleInput }
  /** There are new rules, in parts that it may ask for, with those of the database in that version. The routes wait for the last part. */
  | {
      readonly type: 'packed-rules'
      readonly version: number
      readonly table: number
      readonly routes: RuleInput | undefined
    }
  | { readonly type: 'rule-part'; readonly version: number; readonly part: RulePart }
  | { readonly type: 'connection'; readonly door: DoorName; readonly number: number }
  /** Others have fewer connections: so many are to connect anew. */
  | { readonly type: 'shed'; readonly door: DoorName; readonly count: number }
  | { readonly type: 'not-serving' }
  /** What health checks are to say. */
  | { readonly type: 'health'; readonly health: NodeHealth }
  | { readonly type: 'drain' }
  /** To be answered with a report of that name. */
  | { readonly type: 'ask'; readonly question: number; readonly name: ReportName; readonly about?: readonly string[] }
  | QuotaNews
  /** To be answered `alive`. */
  | { readonly type: 'beat' }

/** What a worker tells the primary. */
export type FromWorker =
  /** It asks for a part of the rules. */
  | { readonly type: 'rule-part'; readonly version: number; readonly at: number }
  /** It asks for a part of the quotas. */
  | { readonly type: 'quota-part'; readonly version: number; readonly at: number }
  | { readonly type: 'ready'; readonly storeName: string }
  /** What it decides by from now on. */
  | { readonly type: 'in-force'; readonly inForce: InForce }
  /** It cannot start, for a reason that somebody has to mend. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'log'; readonly entry: LogEntry }
  /** Lines of the decision log. */
  | { readonly type: 'decisions'; readonly text: string }
  /** What customers used. */
  | { readonly type: 'usage'; readonly news: UsageNews }
  /** It has a connection that it was given. */
  | { readonly type: 'taken'; readonly number: number }
  /** A connection that it was given has ended. */
  | { readonly type: 'closed'; readonly door: DoorName }
  /** It was told to end by somebody else, and wants no more connections. */
  | { readonly type: 'leaving' }
  | { readonly type: 'report'; readonly question: number; readonly report: Reports[ReportName] | undefined }
  /** What it has counted, as it ends. */
  | { readonly type: 'counted'; readonly report: MetricsReport }
  | { readonly type: 'alive' }
