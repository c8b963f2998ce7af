import { RENEWALS, type Renewal } from 'sluice/internal/engine/ports'
import type { RenewalEvents } from 'sluice/internal/engine/renewals'
import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'

/** Counts what became of places that were renewed. */
export class RenewalMetrics implements RenewalEvents {
  readonly #counts = new Map<Renewal, number>()

  renewed(renewal: Renewal, count: number): void {
    this.#counts.set(renewal, (this.#counts.get(renewal) ?? 0) + count)
  }

  report(into: ReportBuilder): void {
    for (const outcome of RENEWALS)
      into.add('ratelimit_renewals_total', labelsOf({ outcome }), this.#counts.get(outcome) ?? 0)
  }
}
