import { familyOf } from './families.ts'
import { isKept, type MergedMetrics, mergeAll, mergeInto } from './merge-reports.ts'
import type { MetricsReport } from './metrics-report.ts'

/** A report, and the number of the worker that it is from. */
export interface WorkerReport {
  readonly worker: number
  readonly report: MetricsReport
}

/**
 * Adds the reports of several processes up so that no counter ever falls: of a process that has ended, or does not
 * answer, it counts what that has last reported. What a process that was killed had counted since, is lost.
 */
export class FleetMetrics {
  readonly #last = new Map<string, WorkerReport>()
  readonly #ended: MergedMetrics = new Map()

  /**
   * Stores a report. It must be called for each as it comes: one that comes after the end of its process would count
   * twice.
   */
  heard(reported: WorkerReport): void {
    this.#last.set(reported.report.instance, reported)
  }

  /** Records that a process has ended. */
  ended(pid: number | undefined): void {
    for (const [instance, { report }] of this.#last) {
      if (report.pid !== pid) continue
      this.#last.delete(instance)
      mergeInto(this.#ended, keptOf(report.families), '')
    }
  }

  /**
   * Returns what all processes have counted. Gauges come from `fresh` alone, the reports just received: a process that
   * does not answer has no valid ones.
   */
  merged(fresh: readonly WorkerReport[]): MergedMetrics {
    const alive = new Map(
      fresh.filter(({ report }) => this.#last.has(report.instance)).map((each) => [each.report.instance, each]),
    )
    const merged: MergedMetrics = new Map()
    mergeAll(merged, this.#ended)
    for (const [instance, { worker, report }] of this.#last) {
      const families = alive.get(instance)?.report.families ?? keptOf(report.families)
      mergeInto(merged, families, String(worker))
    }
    return merged
  }
}

/** Returns what counts for ever of a report. */
export function keptOf(families: MetricsReport['families']): MetricsReport['families'] {
  return Object.fromEntries(Object.entries(families).filter(([name]) => isKept(familyOf(name))))
}
