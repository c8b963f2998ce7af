import { setTimeout as pause } from 'node:timers/promises'
import type { StoreEvents } from 'sluice/internal/stores/open/open-store'
import type { NodeHealth } from '../edge/health/health.ts'
import { type MergedMetrics, mergeInto } from '../observe/metrics/merge-reports.ts'
import type { AskProcesses, ReportName, Reports } from '../observe/reports/reports.ts'
import type { CountsReport } from '../observe/statsd/statsd-counts.ts'
import { tableVersionIn } from '../quotas/book/in-force.ts'
import { type LiveQuotas, type QuotaSink, watchedSink } from '../quotas/book/live-quotas.ts'
import type { Door, DoorName } from './doors/door.ts'
import { type Doors, openDoors } from './doors/doors.ts'
import type { ListenAddress } from './doors/listen.ts'
import type { RoutesInForce, RoutesSource } from './gateway/routes-source.ts'
import type { Processes, ProcessParts } from './processes.ts'

import { PassedOverLog } from './quotas/passed-over-log.ts'
import type { PeersConfig } from './settings/peer-settings.ts'
import { openTraces } from './traces/open-traces.ts'

/** Answers requests in this process. */
export class OneProcess implements Processes {
  readonly isPrimary = false
  readonly failed = new Promise<never>(() => {})
  readonly passedOver: PassedOverLog | undefined
  readonly #parts: ProcessParts
  readonly #startedAtMs = Date.now()
  #quotas: LiveQuotas | undefined
  #doors: Doors | undefined
  #isKilled = false
  #health: NodeHealth = { unready: '', degraded: '' }

  constructor(parts: ProcessParts) {
    this.#parts = parts
    this.passedOver = parts.origin && new PassedOverLog(parts.log)
  }

  get #open(): Doors {
    if (this.#doors === undefined) throw new Error('open() comes first')
    return this.#doors
  }

  get storeName(): string {
    return this.#open.storeName
  }

  get counters(): Doors['counters'] {
    return this.#open.counters
  }

  readonly ask: AskProcesses = async <Name extends ReportName>(name: Name, about?: readonly string[]) => [
    (await this.#open.reports[name](about)) as Reports[Name],
  ]

  sinkFor(quotas: LiveQuotas): QuotaSink {
    this.#quotas = quotas
    return watchedSink(quotas, () => this.#reportInForce())
  }

  #reportInForce(): void {
    const { data, rules } = this.#parts
    const revision = this.#quotas?.revision ?? -1
    data?.quotas.has({ revision, rules: tableVersionIn(rules().origin().inputs) })
  }

  async open(quotas: LiveQuotas | undefined): Promise<void> {
    const { config, log, data, routes, outlet } = this.#parts
    const rules = this.#parts.rules()
    data?.usage.began(data)
    this.#doors = openDoors(config, rules.current, log, {
      traces: await openTraces(config, log),
      decisions: outlet?.send,
      quotas: quotas?.current,
      gateway: routes && (await this.#gateway(routes)),
      peers: config.peers && (await this.#peers(config.peers)),
      passedOver: this.passedOver,
      ledger: data?.quotas.ledger,
      usage: data && (async (news) => data.usage.take(news, data)),
    })
    this.#doors.hear(this.#health)
    rules.watch(() => {
      this.#doors?.rulesChanged()
      this.#reportInForce()
    })
    this.#reportInForce()
    await this.#doors.ready
  }

  async #gateway(routes: RoutesSource) {
    const { gatewayDoor } = await import('./doors/gateway-door.ts')
    return gatewayDoor(this.#parts.config, routes.current.plan, this.#parts.log)
  }

  async #peers(peers: PeersConfig) {
    const { openPeers } = await import('./doors/open-peers.ts')
    return (events: StoreEvents) => openPeers(peers, this.#parts.log, events)
  }

  listen(door: DoorName, at: ListenAddress): Promise<string> {
    return (this.#open.all[door] as Door).listen(at)
  }

  setRoutes({ plan }: RoutesInForce): void {
    this.#doors?.setRoutes(plan)
  }

  hear(health: NodeHealth): void {
    this.#health = health
    this.#doors?.hear(health)
  }

  async start(): Promise<void> {}

  async stop(flush: () => Promise<void>): Promise<void> {
    this.#doors?.notServing()
    if (!this.#isKilled) await this.#drainDelay()
    await this.#doors?.close()
    await flush()
  }

  async #drainDelay(): Promise<void> {
    const { config, log } = this.#parts
    if (config.drainDelayMs > 0) await pause(config.drainDelayMs)
    log.info('drain.closing', 'accepting no new connections, finishing requests in flight')
  }

  kill(): void {
    this.#isKilled = true
  }

  workers() {
    return { ready: 1, starting: 0 }
  }

  stats() {
    return this.#open.reports.stats()
  }

  metrics(): MergedMetrics {
    const merged: MergedMetrics = new Map()
    mergeInto(merged, this.#open.reports.metrics()?.families ?? {}, '1')
    return merged
  }

  statsd(): readonly CountsReport[] {
    return [{ process: '1', counts: this.#open.reports.statsd() }]
  }

  unready(): string {
    return this.#open.reports.unready()
  }

  list() {
    return [{ id: '1', state: 'ready', startedAtMs: this.#startedAtMs, pid: process.pid }]
  }
}
