import { CircuitBreaker } from '../../../engine/circuit-breaker.ts'
import { StoreFault } from '../../../engine/store-fault.ts'
import type { RedisConnection, Reply } from '../connection/connection.ts'
import type { BatchFormat } from '../formats/batch-format.ts'
import { LimitTexts } from '../formats/limit-texts.ts'
import type { StoredKeys } from '../formats/stored-keys.ts'
import { FunctionUse } from '../scripts/function-use.ts'
import { askScript } from '../scripts/send-script.ts'
import type { AdaptiveDeadlines } from './adaptive-deadline.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import { Flight, type FlightHost, type Lane } from './flight.ts'
import { byPartition, readNodeReply } from './node-batch.ts'
import { excuse, promiseJob, refuse, refuseAll, settle, soonestDue, type WaitingJob } from './waiting-job.ts'

/** Events of a batcher. */
export interface BatcherEvents {
  breakerChanged(shard: string, state: CircuitBreaker['state']): void
  /** A call ended, or ran out of time: how long it took, how many decisions it carried, and how it failed if it did. */
  callEnded(shard: string, durationMs: number, decisions: number, fault: StoreFault | undefined): void
  /** How long decisions wait for a server where nothing says it, as far as it has been learned. */
  deadlineChanged?(shard: string, timeoutMs: number): void
}

export interface BatcherOptions {
  /** The clock of deadlines and breakers. Default: the monotonic one. */
  readonly now?: () => number
  /** For tests: the time that scripts use instead of the server's. */
  readonly scriptNowMs?: () => number
  /** How counters are named. Default: by their encoded key. */
  readonly keys?: StoredKeys
  /** The circuit breakers, by server, where several batchers talk to the same ones. */
  readonly breakers?: Map<string, CircuitBreaker>
  /** Which servers can run functions, where several batchers talk to the same ones. */
  readonly functions?: FunctionUse
  /** What learns from the times of calls how long to wait for the next. */
  readonly learners?: AdaptiveDeadlines | undefined
}

/**
 * A server that has been silent for so long has failed. Less is a fork, a slow command or another process on its core:
 * to decide without it for the second that a breaker stays open would do more harm than to wait.
 */
const SILENT_MS = 100
const MAX_JOBS = 512
/** Keys and limits of a call are numbered in 16 bits. */
const MAX_NAMES = 32_768
const MAX_CALLS = 256
/**
 * While this many calls of a lane are in flight, its jobs wait and join: the busier the server, the larger the batches.
 */
const MAX_FLIGHTS = 2
/** Of a lane where nothing waits. It is one list for all, and nothing is added to it. */
const NO_JOBS: never[] = []
Object.freeze(NO_JOBS)

/**
 * Collects the jobs that arrive in one turn of the event loop and sends them as one script call per lane (one lane for
 * a single server; in a cluster one per node or, where that is not possible, one per partition, whose keys share a
 * slot). They leave at the end of the turn; while two calls of their lane are in flight they wait for one of them to
 * end, and join the next batch. Where jobs come one by one they leave immediately, so that the rest of the turn runs
 * while the server decides.
 *
 * Every job is settled by its deadline, whatever the server does. A stall of this process is not a fault of the server:
 * after it, what has arrived is read first, and the server has its whole time again, at most three times. A later reply
 * is dropped, and nothing is ever sent twice.
 */
export class Batcher<Job, Answer> {
  readonly #connection: RedisConnection
  readonly #format: BatchFormat<Job, Answer>
  readonly #events: BatcherEvents
  readonly #now: () => number
  readonly #texts: LimitTexts
  readonly #lanes = new Map<string, Lane<Job, Answer>>()
  readonly #breakers: Map<string, CircuitBreaker>
  readonly #functions: FunctionUse
  readonly #deadlines: DeadlineTimer
  readonly #learners: AdaptiveDeadlines | undefined
  readonly #host: FlightHost<Job, Answer>
  readonly #flush = (): void => this.#departAll()
  readonly #departLane = (lane: Lane<Job, Answer>): void => {
    if (lane.waiting.length === 0) return
    lane.isQuiet = lane.waiting.length === 1 && lane.flights === 0
    this.#depart(lane)
  }
  readonly #take = (waiting: WaitingJob<Job, Answer>): void => this.#wait(waiting)
  #isScheduled = false
  /** The calls without an answer, including calls that have been given up. */
  readonly #calls: Flight<Job, Answer>[] = []
  /** For tests: the time that scripts use. */
  readonly #scriptNowMs: (() => number) | undefined

  constructor(
    connection: RedisConnection,
    format: BatchFormat<Job, Answer>,
    events: BatcherEvents,
    options: BatcherOptions = {},
  ) {
    this.#connection = connection
    this.#format = format
    this.#breakers = options.breakers ?? new Map()
    this.#functions = options.functions ?? new FunctionUse()
    this.#learners = options.learners
    this.#events = events
    this.#now = options.now ?? (() => performance.now())
    this.#scriptNowMs = options.scriptNowMs
    this.#texts = new LimitTexts(options.scriptNowMs, options.keys)
    this.#deadlines = new DeadlineTimer(this.#now, {
      stalled: (nowAt) => this.#excuse(nowAt),
      due: (upTo) => this.#expire(upTo),
    })
    this.#host = {
      now: this.#now,
      connection,
      functions: this.#functions,
      script: format.script,
      answered: (flight, reply) => this.#answered(flight, reply),
      failed: (flight, fault) => this.#failed(flight, fault),
      takenBack: (flight) => this.#takenBack(flight),
    }
  }

  /** Does a job with others. It rejects with a StoreFault, and with nothing else. */
  submit(partition: string, job: Job, timeoutMs: number): Promise<Answer> {
    return promiseJob(job, partition, timeoutMs, this.#take)
  }

  /**
   * Queues a job for the end of the turn; where jobs come one by one and nothing is in flight, it leaves immediately.
   */
  #wait(waiting: WaitingJob<Job, Answer>): void {
    const { partition } = waiting
    const node = this.#nodeOf(partition)
    const lane = this.#laneOf(node ?? partition, node)
    // A push into an empty list allocates room for seventeen.
    if (lane.waiting.length === 0) lane.waiting = [waiting]
    else lane.waiting.push(waiting)
    if (this.#isScheduled) return
    if (lane.isQuiet && lane.flights === 0) {
      this.#depart(lane)
      return
    }
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  /** Returns the node to which jobs of a partition travel with others; undefined where they do not. */
  #nodeOf(partition: string): string | undefined {
    const name = this.#format.byNode?.script.asFunction?.name
    const node = name === undefined ? undefined : this.#connection.nodeOf?.(partition)
    return node !== undefined && this.#functions.maybe(node, String(name)) ? node : undefined
  }

  #laneOf(name: string, node?: string): Lane<Job, Answer> {
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    const lane = { node, waiting: [], flights: 0, isQuiet: false }
    this.#lanes.set(name, lane)
    return lane
  }

  /** Returns the circuit breaker of a server. */
  breakerOf(shard: string): CircuitBreaker {
    let breaker = this.#breakers.get(shard)
    if (breaker === undefined) {
      const onChange = (state: CircuitBreaker['state']): void => this.#events.breakerChanged(shard, state)
      breaker = new CircuitBreaker({ onChange })
      this.#breakers.set(shard, breaker)
    }
    return breaker
  }

  #departAll(): void {
    this.#isScheduled = false
    // A loop over the values makes garbage for each turn.
    this.#lanes.forEach(this.#departLane)
  }

  /** Sends what waits in a lane as far as there is room for calls. The rest is held, and its time runs. */
  #depart(lane: Lane<Job, Answer>): void {
    const waiting = lane.waiting
    const nowAt = this.#now()
    for (const one of waiting) if (one.dueAt === 0) one.dueAt = nowAt + one.timeoutMs
    lane.waiting = NO_JOBS
    for (let at = 0; at < waiting.length; ) {
      if (lane.flights >= MAX_FLIGHTS) {
        lane.waiting = [...lane.waiting, ...waiting.slice(at)]
        this.#deadlines.watch(soonestDue(lane.waiting))
        return
      }
      const end = this.#batchEnd(waiting, at)
      this.#send(lane, at === 0 && end === waiting.length ? waiting : waiting.slice(at, end))
      at = end
    }
  }

  /** Returns where the call ends that begins with a job. */
  #batchEnd(waiting: readonly WaitingJob<Job, Answer>[], start: number): number {
    let names = 0
    const most = waiting[start].isAlone ? start + 1 : Math.min(waiting.length, start + MAX_JOBS)
    for (let i = start; i < most; i++) {
      if (waiting[i].isAlone && i > start) return i
      names += this.#format.sizeOf(waiting[i].job)
      if (names > MAX_NAMES && i > start) return i
    }
    return most
  }

  /** Sends a batch as one call. Jobs that its lane no longer serves continue as jobs of their partitions. */
  #send(lane: Lane<Job, Answer>, batch: readonly WaitingJob<Job, Answer>[]): void {
    if (lane.node === undefined) {
      this.#call(lane, batch)
      return
    }
    const sections: (readonly WaitingJob<Job, Answer>[])[] = []
    for (const [partition, part] of byPartition(batch)) {
      if (this.#nodeOf(partition) === lane.node) sections.push(part)
      else this.#sendOn(part)
    }
    if (sections.length === 1) this.#call(lane, sections[0])
    else if (sections.length > 1) this.#call(lane, sections.flat(), sections)
  }

  /** Sends jobs again as jobs of their partitions, each once: nothing was done yet. Their deadlines stay. */
  #sendOn(batch: readonly WaitingJob<Job, Answer>[]): void {
    for (const [partition, part] of byPartition(batch.filter(({ isSettled }) => !isSettled))) {
      const lane = this.#laneOf(partition)
      lane.waiting = [...lane.waiting, ...part]
      this.#depart(lane)
    }
  }

  #call(
    lane: Lane<Job, Answer>,
    batch: readonly WaitingJob<Job, Answer>[],
    sections?: readonly (readonly WaitingJob<Job, Answer>[])[],
  ): void {
    const shard = this.#connection.shardOf(this.#format.keyOf(batch[0].job))
    const breaker = this.breakerOf(shard)
    const startedAt = this.#now()
    if (this.#calls.length >= MAX_CALLS) {
      turnAway(lane, batch, new StoreFault('overloaded', shard, `${MAX_CALLS} calls in flight`))
      return
    }
    if (!breaker.allows(startedAt)) {
      turnAway(lane, batch, new StoreFault('breaker_open', shard, 'waiting for Redis to recover'))
      return
    }
    const flight = new Flight(this.#host, lane, batch, shard, breaker, startedAt, sections)
    flight.position = this.#calls.push(flight) - 1
    lane.flights++
    this.#deadlines.watch(soonestDue(batch))
    try {
      this.#encode(flight)
      askScript(flight, flight)
    } catch (error) {
      this.#failed(flight, new StoreFault('broken', shard, String(error), error))
    }
  }

  #encode(flight: Flight<Job, Answer>): void {
    const { byNode, lone } = this.#format
    const { batch, sections } = flight
    const nowMs = this.#scriptNowMs?.()
    if (batch.length === 1 && lone !== undefined) {
      flight.load(lone.encode(batch[0].job, this.#texts, nowMs))
      return
    }
    if (sections === undefined || byNode === undefined) {
      flight.load(this.#format.encode(flight.jobs, this.#texts, nowMs))
      return
    }
    const parts = sections.map((section) => section.map(({ job }) => job))
    flight.load(byNode.encode(parts, this.#texts, nowMs), byNode.script)
  }

  #answered(flight: Flight<Job, Answer>, reply: Reply): void {
    const { batch, sections } = flight
    this.#learn(flight)
    if (sections === undefined) {
      if (!this.#settleLone(flight, reply)) this.#settle(flight, reply, batch, flight.jobs)
      return
    }
    const parts = readNodeReply(reply, sections)
    if (parts === undefined) {
      this.#failed(flight, new StoreFault('broken', flight.shard, 'the reply has the wrong size'))
      return
    }
    const { done, left, rest } = parts
    flight.carried = done.length
    this.#settle(flight, rest, done, left.length === 0 ? flight.jobs : done.map(({ job }) => job))
    if (left.length > 0) this.#sendOn(left)
  }

  /** Learns from the time of a call, unless the process itself has stalled meanwhile: then it says nothing. */
  #learn({ batch, shard }: Flight<Job, Answer>): void {
    if (this.#learners === undefined) return
    const { dueAt, timeoutMs, stalls } = batch[0]
    if (stalls > 0) return
    const nowAt = this.#now()
    this.#learners.of(shard).answered(nowAt - (dueAt - timeoutMs), batch.length, nowAt)
  }

  /** Learns from jobs whose time was up. */
  #learnLate(late: readonly WaitingJob<Job, Answer>[], shard: string): void {
    if (this.#learners === undefined) return
    this.#learners.of(shard).timedOut(late[0].timeoutMs, late.length, this.#now())
  }

  /** Ends a call that was not run. What did not go together in one partition goes alone. */
  #takenBack(flight: Flight<Job, Answer>): void {
    if (!flight.isReported) flight.breaker.notTried()
    flight.isReported = true
    if (flight.sections === undefined) for (const waiting of flight.batch) waiting.isAlone = true
    this.#ended(flight, undefined)
    this.#sendOn(flight.batch)
  }

  /** Answers the only job of a call, and returns whether the reply was plain enough for that. */
  #settleLone(flight: Flight<Job, Answer>, reply: Reply): boolean {
    const { batch } = flight
    const answer = batch.length === 1 ? this.#format.lone?.decode(reply, batch[0].job) : undefined
    if (answer === undefined) return false
    this.#ended(flight, undefined)
    settle(batch[0], answer)
    return true
  }

  /** Answers those jobs of a call that the reply is about. */
  #settle(
    flight: Flight<Job, Answer>,
    reply: Reply,
    batch: readonly WaitingJob<Job, Answer>[],
    jobs: readonly Job[],
  ): void {
    const { shard } = flight
    const answers = this.#format.decode(reply, jobs)
    if (answers === undefined) {
      this.#failed(flight, new StoreFault('broken', shard, 'the reply has the wrong size'))
      return
    }
    let fault: StoreFault | undefined
    for (const answer of answers) {
      if (answer === undefined) fault ??= new StoreFault('broken', shard, 'the reply is malformed')
      else flight.isAnswered = true
    }
    this.#ended(flight, fault)
    for (let i = 0; i < batch.length; i++) {
      const answer = answers[i]
      if (answer !== undefined) settle(batch[i], answer)
      else if (fault !== undefined) refuse(batch[i], fault)
    }
  }

  #failed(flight: Flight<Job, Answer>, fault: StoreFault): void {
    this.#ended(flight, fault)
    turnAway(flight.lane, flight.batch, fault)
  }

  #ended(flight: Flight<Job, Answer>, fault: StoreFault | undefined): void {
    this.#remove(flight)
    this.#land(flight)
    this.#report(flight, fault)
    if (this.#calls.length === 0 && flight.lane.waiting.length === 0) this.#rest()
  }

  /** Removes a call from those in flight, once. */
  #remove(flight: Flight<Job, Answer>): void {
    if (this.#calls[flight.position] !== flight) return
    const last = this.#calls.pop() as Flight<Job, Answer>
    if (last === flight) return
    this.#calls[flight.position] = last
    last.position = flight.position
  }

  /** Stops the timer when nothing is in flight. */
  #rest(): void {
    for (const { waiting } of this.#lanes.values()) if (waiting.length > 0) return
    this.#deadlines.rest()
  }

  /** Lets the next jobs of a lane go. */
  #land(flight: Flight<Job, Answer>): void {
    if (flight.isLanded) return
    flight.isLanded = true
    const { lane } = flight
    lane.flights--
    if (lane.waiting.length > 0 && lane.waiting.some(({ dueAt }) => dueAt > 0)) this.#depart(lane)
  }

  /** Reports to the breaker and the listener how a call ended. A result after its deadline is not reported again. */
  #report(flight: Flight<Job, Answer>, fault: StoreFault | undefined): void {
    if (flight.isReported) return
    flight.isReported = true
    const { carried, shard, breaker, startedAt } = flight
    const nowAt = this.#now()
    if (fault === undefined || flight.isAnswered) breaker.succeeded()
    // Without a connection nothing was asked, and asking costs nothing: the breaker has nothing to protect.
    else if (fault.reason === 'offline') breaker.notTried()
    else breaker.failed(nowAt, fault.reason === 'timeout' ? SILENT_MS : 0)
    this.#events.callEnded(shard, nowAt - startedAt, carried, fault)
  }

  /** Restarts the time of jobs that are due. */
  #excuse(nowAt: number): void {
    for (const { batch } of this.#calls) excuse(batch, nowAt)
    for (const { waiting } of this.#lanes.values()) excuse(waiting, nowAt)
  }

  /** Rejects the jobs whose time was up, and watches the others. */
  #expire(upTo: number): void {
    let nextAt = Number.POSITIVE_INFINITY
    for (const flight of [...this.#calls]) {
      this.#expireFlight(flight, upTo)
      nextAt = Math.min(nextAt, soonestDue(flight.batch))
    }
    for (const lane of this.#lanes.values()) {
      this.#expireHeld(lane, upTo)
      for (const { dueAt } of lane.waiting) if (dueAt > 0 && dueAt < nextAt) nextAt = dueAt
    }
    this.#deadlines.watch(nextAt)
  }

  /** Rejects the jobs of a lane whose turn did not come in time. */
  #expireHeld(lane: Lane<Job, Answer>, upTo: number): void {
    const isLate = ({ dueAt }: WaitingJob<Job, Answer>): boolean => dueAt > 0 && dueAt <= upTo
    const late = lane.waiting.filter(isLate)
    if (late.length === 0) return
    lane.waiting = lane.waiting.filter((waiting) => !isLate(waiting))
    const shard = this.#connection.shardOf(this.#format.keyOf(late[0].job))
    this.#learnLate(late, shard)
    refuseAll(late, new StoreFault('timeout', shard, 'not sent within the deadline'))
  }

  /**
   * Rejects the jobs of a call whose time is up. That counts as a failure of the server also right after a stall of
   * this process: the jobs have had all their excuses, and the sockets were read after each. Without that, a process
   * whose timers are always late would ask a silent server for ever.
   */
  #expireFlight(flight: Flight<Job, Answer>, upTo: number): void {
    const { batch, shard, breaker } = flight
    const late = batch.filter(({ isSettled, dueAt }) => !isSettled && dueAt <= upTo)
    if (late.length === 0) return
    const fault = new StoreFault('timeout', shard, 'no answer within the deadline')
    this.#report(flight, fault)
    this.#learnLate(late, shard)
    refuseAll(late, fault)
    if (breaker.state === 'open') this.#connection.reset(shard)
    if (batch.every(({ isSettled }) => isSettled)) this.#land(flight)
  }
}

/**
 * Refuses the jobs of a call. The next job of the lane waits for the end of its turn: a caller that retries in a loop,
 * and is refused immediately each time, would keep the process from all other work, including reconnecting.
 */
function turnAway<Job, Answer>(
  lane: Lane<Job, Answer>,
  batch: readonly WaitingJob<Job, Answer>[],
  fault: StoreFault,
): void {
  lane.isQuiet = false
  refuseAll(batch, fault)
}
