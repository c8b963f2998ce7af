import { createServer, type Server } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { SluiceError } from 'sluice/internal/core/errors'
import type { RuleInput } from 'sluice/internal/core/rules/load'
import type { RuleOrigin } from 'sluice/internal/engine/live-rules'
import type { NodeLedgerPort } from '../../admin/ledger/grpc/ledger-door.ts'
import type { WorkerState } from '../../admin/nodes/node-note.ts'
import type { NodeHealth } from '../../edge/health/health.ts'
import { type InForce, leastOf, tableVersionIn } from '../../quotas/book/in-force.ts'
import type { UsageNews } from '../../quotas/usage/usage-news.ts'
import { DOOR_NAMES, type DoorName } from '../doors/door.ts'
import { type ListenAddress, listen, portOf, reachable } from '../doors/listen.ts'
import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { CrashPace } from './crash-pace.ts'
import { Heartbeat } from './heartbeat.ts'
import { answerLedger } from './ledger-line.ts'
import type { FromWorker } from './messages.ts'
import { QuotaFeed } from './quota-feed.ts'
import { leastBusy, surplus } from './spread.ts'
import { type Connection, WorkerProcess } from './worker-process.ts'
import { WorkerReports } from './worker-reports.ts'

/** Connections that wait for a worker while there is none. */
const MAX_WAITING = 1_024
/** How often workers are asked for what they have counted, in case they crash: at most that much is lost. */
const COUNTED_EVERY_MS = 5_000
/** What workers get beyond the time for draining, to close the store and end. */
const EXTRA_MS = 2_000
/**
 * How long a worker may take to be ready: as long as its rules may take to load, and more where many start at the same
 * time.
 */
const START_MS = 60_000
const START_MS_A_WORKER = 1_000

/** Takes what workers counted, and knows which of them count. */
interface UsageTaker {
  take(news: UsageNews, worker: object): void
  began(worker: object): void
  ended(worker: object): void
}

/** What a Primary is given, and what it reports. */
export interface PrimaryParts {
  readonly origin: () => RuleOrigin
  /** Takes lines of the decision log. */
  readonly decisions?: (text: string) => void
  /** Takes what customers used. */
  readonly usage?: UsageTaker
  /** The ledger that workers ask. Undefined: there is no database. */
  readonly ledger?: NodeLedgerPort | undefined
  /** Receives what every worker decides by: the oldest of each part. */
  readonly inForce?: (least: InForce) => void
  /** What keys of quotas are hashed under. Undefined: there are no quotas. */
  readonly keySecret?: (() => string) | undefined
  /** The routes file of the gateway that goes with some rules, where there is one. */
  readonly routes?: ((inputs: readonly RuleInput[]) => RuleInput) | undefined
}

/**
 * Keeps workers running and hands them connections. It owns the ports, so that a worker can end without one of them
 * being closed, and it never reads from a connection: only workers read requests.
 */
export class Primary {
  readonly #config: Config
  readonly #log: Log
  readonly #origin: () => RuleOrigin
  readonly #decisions: (text: string) => void
  readonly #usage: UsageTaker | undefined
  readonly #ledger: NodeLedgerPort | undefined
  readonly #pace = new CrashPace()
  readonly #servers: Server[] = []
  readonly #waiting: Connection[] = []
  /** In the order in which they last got a connection, the longest wait first. */
  #workers: WorkerProcess[] = []
  #counting: NodeJS.Timeout | undefined
  /** How often the rules changed. */
  #version = 0
  #isPrepared = false
  /** Until there are rules, workers wait for them. */
  #hasRules = false
  #isStarted = false
  #isStopping = false
  #isKilled = false
  #health: NodeHealth = { unready: '', degraded: '' }
  #storeName = ''
  #whenReady: () => void = () => {}
  #fail: (error: Error) => void = () => {}
  /** Rejects when workers cannot be kept running. */
  readonly failed: Promise<never>

  /** Asks every worker that has started, or some of them, for reports. */
  readonly reports = new WorkerReports(
    () => this.#workers.filter(({ state }) => state !== 'starting'),
    () => this.#connectionCounts(),
  )

  /** Where quotas go; they are used only with a secret that keys are hashed by. */
  readonly quotas = new QuotaFeed(
    (news) => {
      if (this.#hasRules) for (const worker of this.#workers) worker.send(news)
    },
    () => this.#keySecret?.() ?? '',
  )
  readonly #keySecret: (() => string) | undefined
  readonly #inForce: (least: InForce) => void
  readonly #routes: PrimaryParts['routes']

  constructor(config: Config, log: Log, parts: PrimaryParts) {
    const { origin, decisions = () => {}, usage, inForce = () => {}, keySecret, routes, ledger } = parts
    this.#ledger = ledger
    this.#routes = routes
    this.#decisions = decisions
    this.#usage = usage
    this.#keySecret = keySecret
    this.#inForce = inForce
    this.#config = config
    this.#log = log
    this.#origin = origin
    this.failed = new Promise((_, reject) => {
      this.#fail = reject
    })
    // Callers that are interested wait for it; an error at the start comes out of start().
    this.failed.catch(() => {})
  }

  get storeName(): string {
    return this.#storeName
  }

  /** Opens the port of a door, and returns where it can be reached. */
  async listen(door: DoorName, at: ListenAddress): Promise<string> {
    const server = createServer({ pauseOnConnect: true, noDelay: true, allowHalfOpen: door !== 'grpc' })
    server.on('connection', (socket) => {
      // A client that leaves while its connection waits here is handled by the worker that gets the connection.
      socket.on('error', () => {})
      this.#give({ door, socket })
    })
    await listen(server, at)
    this.#servers.push(server)
    return reachable(portOf(server), at)
  }

  /** Starts the processes of all workers early: that takes as long as everything before start() does. */
  prepare(): void {
    this.#isPrepared = true
    for (let id = 1; id <= this.#config.workers; id++) this.#spawn(id)
  }

  /** Starts all workers, and resolves when they are ready. The rules are known by now. */
  async start(): Promise<void> {
    const ready = new Promise<void>((resolve) => {
      this.#whenReady = resolve
    })
    if (!this.#isPrepared) this.prepare()
    this.#hasRules = true
    for (const worker of this.#workers) this.#sendStart(worker)
    await Promise.race([ready, this.failed])
    if (this.#config.metrics.isOn)
      this.#counting = setInterval(() => void this.reports.of('counted'), COUNTED_EVERY_MS).unref()
  }

  /** Has every worker apply other rules: few are sent directly, many in parts that it requests. */
  applyRules({ inputs, parts }: RuleOrigin): void {
    const version = ++this.#version
    if (!this.#hasRules) return
    const routes = this.#routes?.(inputs)
    for (const worker of this.#workers) {
      worker.send(
        parts === undefined
          ? { type: 'rules', inputs, routes }
          : { type: 'packed-rules', version, table: tableVersionIn(inputs), routes },
      )
    }
  }

  /** Has the gateway of every worker apply other routes, whose rules it has. */
  applyRoutes(input: RuleInput): void {
    if (this.#hasRules) for (const worker of this.#workers) worker.send({ type: 'routes', input })
  }

  /** Sends a worker a part of the rules, unless there are newer ones, which have been announced to it. */
  #sendPart(worker: WorkerProcess, version: number, at: number): void {
    const part = this.#origin().parts?.[at]
    if (version === this.#version && part !== undefined) worker.send({ type: 'rule-part', version, part })
  }

  /** Passes the node's health on to the health checks of every worker. */
  hear(health: NodeHealth): void {
    this.#health = health
    if (this.#hasRules) for (const worker of this.#workers) worker.send({ type: 'health', health })
  }

  /** Counts workers: how many take requests, and how many are starting. */
  workerStates(): { readonly ready: number; readonly starting: number } {
    return { ready: this.#ready().length, starting: this.#workers.filter(({ state }) => state === 'starting').length }
  }

  /** Every worker, for people. */
  workerList(): readonly Omit<WorkerState, 'decisionsPerSecond'>[] {
    return [...this.#workers]
      .sort((a, b) => a.id - b.id)
      .map(({ id, state, startedAtMs, pid }) => ({ id: String(id), state, startedAtMs, pid }))
  }

  /**
   * Returns why the node accepts no requests: it is about to start or end, or no worker accepts any. A worker that is
   * being replaced is no reason: the others serve its requests.
   */
  async unready(): Promise<string> {
    if (this.#isStopping) return 'draining'
    if (!this.#isStarted) return 'workers are starting'
    const ids = new Set(this.#ready().map(({ id }) => id))
    const answers = (await this.reports.of('unready')).filter(({ worker }) => ids.has(worker))
    if (answers.length === 0) return 'no worker answers'
    const reasons = answers.filter(({ report }) => report !== '')
    return reasons.map(({ worker, report }) => `worker ${worker}: ${report}`).join('; ')
  }

  /** Has the workers say that they are not serving, then drains them. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#counting)
    const { drainDelayMs, drainTimeoutMs } = this.#config
    for (const worker of this.#workers) worker.send({ type: 'not-serving' })
    if (drainDelayMs > 0 && !this.#isKilled) await pause(drainDelayMs)
    this.#log.info('drain.closing', 'accepting no new connections, finishing requests in flight')
    for (const server of this.#servers) server.close()
    const deadline = setTimeout(() => this.kill(), drainTimeoutMs + EXTRA_MS)
    for (const worker of this.#workers) this.#drain(worker)
    await Promise.all(this.#workers.map(({ ended }) => ended))
    clearTimeout(deadline)
    for (const { socket } of this.#waiting.splice(0)) socket.destroy()
  }

  /** Kills all workers immediately. */
  kill(): void {
    this.#isStopping = true
    this.#isKilled = true
    for (const worker of this.#workers) worker.kill()
  }

  #ready(): WorkerProcess[] {
    return this.#workers.filter(({ state }) => state === 'ready')
  }

  /**
   * Returns the workers that may get connections. At the start they all wait for the last worker, or the first would
   * get them all.
   */
  #takers(door: DoorName): { readonly worker: WorkerProcess; readonly open: number }[] {
    return this.#isStarted ? this.#ready().map((worker) => ({ worker, open: worker.open(door) })) : []
  }

  #spawn(id: number): void {
    const worker = new WorkerProcess(id, {
      received: (from, message) => this.#received(from, message),
      ended: (from, how) => this.#ended(from, how),
    })
    this.#workers.push(worker)
    if (this.#hasRules) this.#sendStart(worker)
  }

  #sendStart(worker: WorkerProcess): void {
    this.#awaitReady(worker)
    const quotas = this.#keySecret && this.quotas.announce()
    const { inputs } = this.#origin()
    const health = this.#health
    const routes = this.#routes?.(inputs)
    worker.send({ type: 'start', id: worker.id, config: this.#config, inputs, health, routes, quotas })
  }

  #give(connection: Connection): void {
    const chosen = leastBusy(this.#takers(connection.door))?.worker
    if (chosen !== undefined) {
      this.#workers = [...this.#workers.filter((worker) => worker !== chosen), chosen]
      chosen.give(connection)
    } else if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push(connection)
    } else {
      connection.socket.destroy()
    }
  }

  #received(worker: WorkerProcess, message: FromWorker): void {
    if (message.type === 'taken') worker.taken(message.number)
    else if (message.type === 'rule-part') this.#sendPart(worker, message.version, message.at)
    else if (message.type === 'quota-part') worker.send(this.quotas.answer(message.version, message.at))
    else if (message.type === 'closed') worker.lost(message.door)
    else if (message.type === 'log') this.#log.write({ ...message.entry, worker: worker.id })
    else if (message.type === 'decisions') this.#decisions(message.text)
    else if (message.type === 'ledger')
      answerLedger(this.#ledger, message.questions, (replies) => worker.send({ type: 'ledger', replies }))
    else if (message.type === 'usage') this.#usage?.take(message.news, worker)
    else if (message.type === 'in-force') this.#hasInForce(worker, message.inForce)
    else if (message.type === 'ready') this.#isReady(worker, message.storeName)
    else if (message.type === 'leaving') this.#replace(worker)
    else if (message.type === 'counted') this.reports.counted(worker, message.report)
    else if (message.type === 'alive') worker.heartbeat?.answered()
    else if (message.type === 'report') this.reports.answered(worker, message)
    else worker.lastWords = message.message
  }

  #isReady(worker: WorkerProcess, storeName: string): void {
    this.#usage?.began(worker)
    worker.state = 'ready'
    worker.readyAtMs = performance.now()
    this.#storeName = storeName
    this.#listenTo(worker)
    this.#pace.ready()
    this.#log.debug('worker.ready', `${nameOf(worker)} is ready`)
    for (const other of this.#workers) if (other.hasSuccessor && other.id === worker.id) this.#drain(other)
    if (!this.#isStarted && this.#ready().length < this.#config.workers) return
    this.#isStarted = true
    for (const connection of this.#waiting.splice(0)) this.#give(connection)
    this.#rebalance()
    this.#whenReady()
    this.#reportInForce()
  }

  #hasInForce(worker: WorkerProcess, inForce: InForce): void {
    worker.inForce = inForce
    this.#reportInForce()
  }

  /** Reports what all workers that answer requests have in force, including workers that are leaving. */
  #reportInForce(): void {
    if (!this.#isStarted) return
    const answering = this.#workers.filter(({ state }) => state !== 'starting')
    this.#inForce(leastOf(answering.map(({ inForce }) => inForce)))
  }

  /** Kills a worker that hangs before it is ready: nothing else would ever end its start. */
  #awaitReady(worker: WorkerProcess): void {
    const { workerTimeoutMs, workers } = this.#config
    if (workerTimeoutMs === 0) return
    const maxWaitMs = Math.max(workerTimeoutMs, START_MS + workers * START_MS_A_WORKER)
    worker.heartbeat = new Heartbeat(maxWaitMs, {
      ask: () => {},
      silent: () => this.#giveUp(worker, `was not ready within ${maxWaitMs} ms`),
    })
  }

  #giveUp(worker: WorkerProcess, why: string): void {
    worker.lastWords ??= `${nameOf(worker)} ${why}`
    this.#log.error('worker.silent', `${nameOf(worker)} ${why}, and is killed`)
    worker.kill()
  }

  /**
   * Kills a worker that no longer answers (stopped, or in an endless loop): it keeps its connections, and gets new
   * ones, and none of their clients is answered. Its end is handled like any worker's.
   */
  #listenTo(worker: WorkerProcess): void {
    worker.heartbeat?.stop()
    const { workerTimeoutMs } = this.#config
    if (workerTimeoutMs === 0) return
    worker.heartbeat = new Heartbeat(workerTimeoutMs, {
      ask: () => worker.send({ type: 'beat' }),
      silent: () => this.#giveUp(worker, `has not answered for ${workerTimeoutMs} ms`),
    })
  }

  /**
   * Has workers with more than their share of gRPC connections ask some of those clients to reconnect. These
   * connections are few and last for days: otherwise the others would keep the work of a worker that crashed, and its
   * successor would have none.
   */
  #rebalance(): void {
    for (const { taker, count } of surplus(this.#takers('grpc')))
      taker.worker.send({ type: 'shed', door: 'grpc', count })
  }

  /** Lets a worker leave that something else asked to end, as soon as another has taken its place. */
  #replace(worker: WorkerProcess): void {
    if (this.#isStopping || worker.hasSuccessor || worker.state !== 'ready') return
    worker.hasSuccessor = true
    this.#log.info('worker.leaving', `${nameOf(worker)} was asked to end, another takes its place`)
    this.#spawn(worker.id)
  }

  /** Has a worker end. It gets to see the connections first that it was given before. */
  #drain(worker: WorkerProcess): void {
    if (worker.state !== 'leaving') worker.send({ type: 'drain' })
    worker.state = 'leaving'
  }

  #ended(worker: WorkerProcess, how: string): void {
    worker.heartbeat?.stop()
    this.reports.ended(worker)
    this.#usage?.ended(worker)
    this.#workers = this.#workers.filter((other) => other !== worker)
    this.#reportInForce()
    for (const connection of worker.untaken()) this.#give(connection)
    if (this.#isStopping || worker.state === 'leaving' || worker.hasSuccessor) return
    const { id, readyAtMs, lastWords: reason } = worker
    const delayMs = this.#pace.ended(readyAtMs && performance.now() - readyAtMs)
    if (this.#pace.isHopeless && (this.#ready().length === 0 || !this.#isStarted)) {
      this.#fail(new SluiceError('WORKERS_CRASH', 'serve', reason ?? `${nameOf(worker)} ended with ${how}`))
      return
    }
    const text = `${nameOf(worker)} ended with ${how}, another takes its place`
    this.#log.error('worker.crashed', text, { inMs: delayMs, reason })
    void pause(delayMs).then(() => {
      if (!this.#isStopping) this.#spawn(id)
    })
  }

  *#connectionCounts(): Iterable<[name: string, count: number]> {
    for (const worker of this.#workers) {
      const doors = DOOR_NAMES.filter((door) => (door === 'gateway') === (this.#config.gateway !== undefined))
      for (const door of doors) yield [`sluice.worker.${worker.id}.${door}_connections`, worker.open(door)]
    }
  }
}

function nameOf({ id, pid }: WorkerProcess): string {
  return `worker ${id} (process ${pid})`
}
