import { labelsOf } from '../../observe/metrics/labels.ts'
import type { ReportBuilder } from '../../observe/metrics/metrics-report.ts'
import type { AnchorKeeper } from '../../quotas/audit/anchor-keeper.ts'
import type { SinkRunner } from '../../quotas/sinks/sink-runner.ts'
import type { UsageWriter } from '../../quotas/usage/usage-writer.ts'
import type { DeliveryOutcome } from '../../quotas/webhooks/webhook-courier.ts'

/** Counts what became of usage, webhooks and the audit log. */
export class UsageMetrics {
  readonly #writer: UsageWriter
  readonly #sinks: readonly SinkRunner[]
  readonly #keeper: Pick<AnchorKeeper, 'figures'>
  readonly #outcomes: Record<DeliveryOutcome, number> = { delivered: 0, retried: 0, failed: 0, gone: 0 }

  constructor(writer: UsageWriter, sinks: readonly SinkRunner[], keeper: Pick<AnchorKeeper, 'figures'>) {
    this.#writer = writer
    this.#sinks = sinks
    this.#keeper = keeper
  }

  ended(outcome: DeliveryOutcome): void {
    this.#outcomes[outcome]++
  }

  report(into: ReportBuilder): void {
    const { written, dropped, waiting, ageMs } = this.#writer.figures
    into.add('ratelimit_usage_rows_written_total', '', written)
    into.add('ratelimit_usage_dropped_total', '', dropped)
    into.add('ratelimit_usage_waiting_rows', '', waiting)
    into.add('ratelimit_usage_waiting_seconds', '', ageMs / 1000)
    for (const [outcome, count] of Object.entries(this.#outcomes)) {
      into.add('ratelimit_webhook_deliveries_total', labelsOf({ outcome }), count)
    }
    for (const sink of this.#sinks) {
      const labels = labelsOf({ sink: sink.kind })
      into.add('ratelimit_audit_sink_entries_total', labels, sink.figures.sent)
      into.add('ratelimit_audit_sink_lag', labels, sink.figures.lag)
    }
    for (const { kind, isKept } of this.#keeper.figures) {
      into.add('ratelimit_audit_anchor_ok', labelsOf({ anchor: kind }), isKept ? 1 : 0)
    }
  }
}
