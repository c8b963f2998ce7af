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
import type { LedgerQuestion, LedgerReply } from './ledger-line.ts'
import type { QuotaNews } from './quota-feed.ts'

/** What the primary sends to a worker. A `connection` comes with its socket, and must be acknowledged. */
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
  /** New rules, with the gateway's routes that go with them. */
  | { readonly type: 'rules'; readonly inputs: readonly RuleInput[]; readonly routes: RuleInput | undefined }
  | { readonly type: 'routes'; readonly input: RuleInput }
  /**
   * There are new rules, in parts that the worker may request, with that version of the database's rules. The routes
   * wait for the last part.
   */
  | {
      readonly type: 'packed-rules'
      readonly version: number
      readonly table: number
      readonly routes: RuleInput | undefined
    }
  | { readonly type: 'rule-part'; readonly version: number; readonly part: RulePart }
  | { readonly type: 'connection'; readonly door: DoorName; readonly number: number }
  /** Other workers have fewer connections: `count` clients should reconnect. */
  | { readonly type: 'shed'; readonly door: DoorName; readonly count: number }
  | { readonly type: 'not-serving' }
  /** What health checks should report. */
  | { readonly type: 'health'; readonly health: NodeHealth }
  | { readonly type: 'drain' }
  /** Asks for a report of that name. */
  | { readonly type: 'ask'; readonly question: number; readonly name: ReportName; readonly about?: readonly string[] }
  | QuotaNews
  /** What the ledger says to what the worker asked. */
  | { readonly type: 'ledger'; readonly replies: readonly LedgerReply[] }
  /** To be answered `alive`. */
  | { readonly type: 'beat' }

/** What a worker sends to the primary. */
export type FromWorker =
  /** It asks for a part of the rules. */
  | { readonly type: 'rule-part'; readonly version: number; readonly at: number }
  /** It asks for a part of the quotas. */
  | { readonly type: 'quota-part'; readonly version: number; readonly at: number }
  | { readonly type: 'ready'; readonly storeName: string }
  /** What the worker decides by from now on. */
  | { readonly type: 'in-force'; readonly inForce: InForce }
  /** It cannot start, for a reason that an operator has to fix. */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'log'; readonly entry: LogEntry }
  /** Lines of the decision log. */
  | { readonly type: 'decisions'; readonly text: string }
  /** What customers used. */
  | { readonly type: 'usage'; readonly news: UsageNews }
  /** What it asks the ledger. */
  | { readonly type: 'ledger'; readonly questions: readonly LedgerQuestion[] }
  /** The worker has received a connection. */
  | { readonly type: 'taken'; readonly number: number }
  /** A connection of the worker has ended. */
  | { readonly type: 'closed'; readonly door: DoorName }
  /** Something else asked it to end, and it accepts no more connections. */
  | { readonly type: 'leaving' }
  | { readonly type: 'report'; readonly question: number; readonly report: Reports[ReportName] | undefined }
  /** What the worker has counted, as it ends. */
  | { readonly type: 'counted'; readonly report: MetricsReport }
  | { readonly type: 'alive' }
