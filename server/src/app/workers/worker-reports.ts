import { FleetMetrics } from '../../observe/metrics/fleet-metrics.ts'
import type { MergedMetrics } from '../../observe/metrics/merge-reports.ts'
import { isMetricsReport, type MetricsReport } from '../../observe/metrics/metrics-report.ts'
import type { ReportName, Reports } from '../../observe/reports/reports.ts'
import { type ServiceStats, sumStats } from '../../observe/reports/service-stats.ts'
import type { CountsReport } from '../../observe/statsd/statsd-counts.ts'
import type { FromWorker } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'

const TIMEOUT_MS = 1_000

type Answer = (report: Reports[ReportName] | undefined) => void

/** Asks workers for what they have counted and seen. A worker that does not answer in time is left out. */
export class WorkerReports {
  readonly #asked: () => readonly WorkerProcess[]
  readonly #connections: () => Iterable<readonly [name: string, count: number]>
  readonly #questions = new Map<number, Answer>()
  readonly #fleet = new FleetMetrics()
  #collecting: Promise<MergedMetrics> | undefined
  #question = 0

  /** `asked` returns the workers that can answer, `connections` what they hold. */
  constructor(
    asked: () => readonly WorkerProcess[],
    connections: () => Iterable<readonly [name: string, count: number]>,
  ) {
    this.#asked = asked
    this.#connections = connections
  }

  /** Asks every worker for a report, and returns the reports that arrive in time. */
  async of<Name extends ReportName>(
    name: Name,
    about?: readonly string[],
  ): Promise<{ worker: number; pid: number | undefined; report: Reports[Name] }[]> {
    const asked = this.#asked()
    const answers = await Promise.all(asked.map((worker) => this.#ask(worker, name, about)))
    return asked.flatMap(({ id, pid }, i) => {
      const report = answers[i]
      return report === undefined ? [] : [{ worker: id, pid, report }]
    })
  }

  /** Returns the sums of all workers that answer. */
  async stats(): Promise<ServiceStats> {
    const known = await this.of('stats')
    const all = known.map(({ report }) => report)
    return { ...sumStats(all), ...Object.fromEntries(this.#connections()) }
  }

  /**
   * Returns the metrics of all workers. Calls during a collection share its result. Never rejects: a worker that does
   * not answer in time is reported with its last values.
   */
  metrics(): Promise<MergedMetrics> {
    this.#collecting ??= this.of('metrics').then((all) => {
      this.#collecting = undefined
      return this.#fleet.merged(all.flatMap(({ worker, report }) => (report === undefined ? [] : [{ worker, report }])))
    })
    return this.#collecting
  }

  /** Returns the counts of each worker, for StatsD. */
  async statsdCounts(): Promise<readonly CountsReport[]> {
    const all = await this.of('statsd')
    return all.map(({ pid, report }) => ({ process: String(pid), counts: report }))
  }

  /** Takes the answer of a worker. */
  answered(worker: WorkerProcess, { question, report }: Extract<FromWorker, { type: 'report' }>): void {
    if (isMetricsReport(report)) this.counted(worker, report)
    this.#questions.get(question)?.(report)
  }

  /** Takes what a worker has counted. */
  counted({ id }: WorkerProcess, report: MetricsReport): void {
    this.#fleet.heard({ worker: id, report })
  }

  /** Keeps what a worker has counted that has ended. */
  ended({ pid }: WorkerProcess): void {
    this.#fleet.ended(pid)
  }

  #ask<Name extends ReportName>(
    worker: WorkerProcess,
    name: Name,
    about: readonly string[] | undefined,
  ): Promise<Reports[Name] | undefined> {
    const question = this.#question++
    return new Promise((resolve) => {
      const answer: Answer = (report) => {
        clearTimeout(timeout)
        this.#questions.delete(question)
        resolve(report as Reports[Name] | undefined)
      }
      const timeout = setTimeout(answer, TIMEOUT_MS, undefined)
      this.#questions.set(question, answer)
      worker.send({ type: 'ask', question, name, ...(about !== undefined && { about }) })
    })
  }
}
