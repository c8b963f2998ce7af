import { labelsOf } from '../../observe/metrics/labels.ts'
import type { ReportBuilder } from '../../observe/metrics/metrics-report.ts'
import { CHECKED_TABLES, PassedOver } from '../../quotas/book/passed-over.ts'
import type { MetricsSource } from '../doors/door-metrics.ts'
import type { Log } from '../log/log.ts'

/** Counts and logs records of quotas that make no limit under the rules in force, each once. */
export class PassedOverLog extends PassedOver implements MetricsSource {
  constructor(log: Log) {
    super((table, id, reason) => {
      const what = table === 'tiers' ? 'a stored tier' : 'an override'
      log.error('quotas.passed_over', `${what} makes no limit, and is passed over: ${id}: ${reason}`, { table, id })
    })
  }

  report(into: ReportBuilder): void {
    for (const table of CHECKED_TABLES) {
      into.add('ratelimit_quotas_passed_over_total', labelsOf({ table }), this.counts[table])
    }
  }
}
