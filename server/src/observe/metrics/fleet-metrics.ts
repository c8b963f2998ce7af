import { familyOf } from './families.ts'
import { isKept, type MergedMetrics, mergeAll, mergeInto } from './merge-reports.ts'
import type { MetricsReport } from './metrics-report.ts'

/** A WorkerReport is a report, and the number of the worker that it is from. */
export interface WorkerReport {
  readonly worker: number
  readonly report: MetricsReport
}

/**
 * FleetMetrics adds the reports of several processes up so that no counter ever falls: of a process that has ended, or does not
 * answer, it counts what that has last reported. What a process that was killed had counted since, is lost.
 */
export class FleetMetrics {
  readonly #last = new Map<string, WorkerReport>()
  readonly #ended: MergedMetrics = new Map()

  /** heard keeps a report. It is told of each as it comes: one that comes after the end of its process would count twice. */
  heard(reported: WorkerReport): void {
    this.#last.set(reported.report.instance, reported)
  }

  /** ended is told that a process is gone. */
  ended(pid: number | undefined): void {
    for (const [instance, { report }] of this.#last) {
      if (report.pid !== pid) continue
      this.#last.delete(instance)
      mergeInto(this.#ended, keptOf(report.families), '')
    }
  }

  /**
   * merged is what all processes have counted. Gauges are those of `fresh` alone, reports that were heard of just now: who does
   * not answer has none that are worth telling.
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

/** keptOf is what counts for ever of a report. */
export function keptOf(families: MetricsReport['families']): MetricsReport['families'] {
  return Object.fromEntries(Object.entries(families).filter(([name]) => isKept(familyOf(name))))
}
