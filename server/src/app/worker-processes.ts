import type { RuleOrigin } from 'sluice/internal/engine/live-rules'
import type { NodeHealth } from '../edge/health/health.ts'
import type { AskProcesses, ReportName } from '../observe/reports/reports.ts'
import { bothSinks, type LiveQuotas, type QuotaSink } from '../quotas/book/live-quotas.ts'
import type { DoorName } from './doors/door.ts'
import type { ListenAddress } from './doors/listen.ts'
import type { RoutesInForce } from './gateway/routes-source.ts'
import type { Processes, ProcessParts } from './processes.ts'
import { requireFiles } from './settings/pem-files.ts'
import { requireTracePackages } from './traces/trace-packages.ts'
import { Primary } from './workers/primary.ts'

/** Answers requests in workers. */
export class WorkerProcesses implements Processes {
  readonly isPrimary = true
  /** Each worker has counters; there is no one store to read. */
  readonly counters = undefined
  readonly #primary: Primary

  constructor({ config, log, data, origin, routes, outlet, rules }: ProcessParts) {
    requireFiles(config)
    // Workers would notice as well, but their reason would be logged late.
    if (config.traces !== undefined) requireTracePackages(config.traces)
    this.#primary = new Primary(config, log, {
      origin: () => rules().origin(),
      decisions: (text) => void outlet?.send(text),
      ...(data && { usage: data.usage, ledger: data.quotas.ledger }),
      inForce: (least) => data?.quotas.has(least),
      keySecret: origin && (() => origin.keySecret()),
      routes: routes && ((inputs) => routes.inputFor(inputs)),
    })
    this.#primary.prepare()
  }

  get storeName(): string {
    return this.#primary.storeName
  }

  get failed(): Promise<never> {
    return this.#primary.failed
  }

  readonly ask: AskProcesses = async <Name extends ReportName>(name: Name, about?: readonly string[]) =>
    (await this.#primary.reports.of(name, about)).map(({ report }) => report)

  readonly rulesChanged = (from: RuleOrigin): void => this.#primary.applyRules(from)

  sinkFor(quotas: LiveQuotas): QuotaSink {
    return bothSinks(quotas, this.#primary.quotas)
  }

  async open(): Promise<void> {}

  listen(door: DoorName, at: ListenAddress): Promise<string> {
    return this.#primary.listen(door, at)
  }

  setRoutes({ input }: RoutesInForce): void {
    this.#primary.applyRoutes(input)
  }

  hear(health: NodeHealth): void {
    this.#primary.hear(health)
  }

  start(): Promise<void> {
    return this.#primary.start()
  }

  async stop(flush: () => Promise<void>): Promise<void> {
    await flush()
    await this.#primary.stop()
  }

  kill(): void {
    this.#primary.kill()
  }

  workers() {
    return this.#primary.workerStates()
  }

  stats() {
    return this.#primary.reports.stats()
  }

  metrics() {
    return this.#primary.reports.metrics()
  }

  statsd() {
    return this.#primary.reports.statsdCounts()
  }

  unready() {
    return this.#primary.unready()
  }

  list() {
    return this.#primary.workerList()
  }
}
