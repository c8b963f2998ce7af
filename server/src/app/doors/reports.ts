import type { HotKeysReport } from '../../observe/hot-keys/hot-keys-report.ts'
import type { ServiceStats } from './service-stats.ts'

/** Reports are what each process that answers requests can be asked for: plain data, which workers send. */
export interface Reports {
  readonly stats: ServiceStats
  readonly hotKeys: HotKeysReport
}

export type ReportName = keyof Reports

/** A Reporter answers with a report of its process. */
export type Reporter = { readonly [Name in ReportName]: () => Reports[Name] }
