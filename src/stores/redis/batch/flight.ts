import type { CircuitBreaker } from '../../../engine/circuit-breaker.ts'
import type { StoreFault } from '../../../engine/store-fault.ts'
import type { RedisConnection, Reply } from '../connection/connection.ts'
import type { EncodedBatch } from '../formats/batch-format.ts'
import type { FunctionUse } from '../scripts/function-use.ts'
import type { Script } from '../scripts/scripts.ts'
import type { Call, ScriptAsker } from '../scripts/send-script.ts'
import type { WaitingJob } from './waiting-job.ts'

/** What travels together: jobs that wait to be sent, and the calls in flight. */
export interface Lane<Job, Answer> {
  /** The node of a cluster, where jobs of all its partitions travel together. */
  readonly node: string | undefined
  waiting: WaitingJob<Job, Answer>[]
  flights: number
  /**
   * The last turn with jobs had exactly one, nothing was in flight, and it was not refused: the next leaves
   * immediately.
   */
  isQuiet: boolean
}

const NOTHING: readonly string[] = []

/** Notified of how flights end. */
export interface FlightHost<Job, Answer> {
  readonly now: () => number
  readonly connection: RedisConnection
  readonly functions: FunctionUse
  /** The script that calls of one partition run. */
  readonly script: Script
  answered(flight: Flight<Job, Answer>, reply: Reply): void
  failed(flight: Flight<Job, Answer>, fault: StoreFault): void
  /** Nothing was done, and the jobs go another way: as jobs of their partitions, or each alone. */
  takenBack(flight: Flight<Job, Answer>): void
}

/**
 * A call in flight. Its end is reported once, however many of its jobs timed out before. One object holds everything
 * about a call, because a quiet service makes one for each decision.
 */
export class Flight<Job, Answer> implements Call, ScriptAsker {
  readonly lane: Lane<Job, Answer>
  readonly batch: readonly WaitingJob<Job, Answer>[]
  readonly shard: string
  readonly breaker: CircuitBreaker
  readonly startedAt: number
  script: Script
  keys: readonly string[] = NOTHING
  args: EncodedBatch['args'] = NOTHING
  /** The parts of the batch, where they are of several partitions. */
  readonly sections: readonly (readonly WaitingJob<Job, Answer>[])[] | undefined
  /** Where it stands among the calls in flight. */
  position = 0
  isReported = false
  /** How many of its jobs were done here, or failed. */
  carried: number
  /** It does not hold up its lane any more: it has ended, or all of its jobs ran out of time. */
  isLanded = false
  /**
   * The server works, and is not silent, whatever becomes of the call: it has answered that keys of the batch are on
   * both sides of a moving slot, or some of the jobs in a way that makes sense.
   */
  isAnswered = false
  readonly #host: FlightHost<Job, Answer>
  #jobs: readonly Job[] | undefined

  constructor(
    host: FlightHost<Job, Answer>,
    lane: Lane<Job, Answer>,
    batch: readonly WaitingJob<Job, Answer>[],
    shard: string,
    breaker: CircuitBreaker,
    startedAt: number,
    sections?: readonly (readonly WaitingJob<Job, Answer>[])[],
  ) {
    this.#host = host
    this.script = host.script
    this.lane = lane
    this.batch = batch
    this.shard = shard
    this.breaker = breaker
    this.startedAt = startedAt
    this.sections = sections
    this.carried = batch.length
  }

  get jobs(): readonly Job[] {
    this.#jobs ??= this.batch.map(({ job }) => job)
    return this.#jobs
  }

  get connection(): RedisConnection {
    return this.#host.connection
  }

  get functions(): FunctionUse {
    return this.#host.functions
  }

  /** It is all that a turn has for its server. Of several partitions, calls leave together. */
  get isPrompt(): boolean {
    return this.lane.node !== undefined || this.#host.connection.spansPartitions
  }

  /** Returns what is sent. */
  load({ keys, args }: EncodedBatch, script = this.script): void {
    this.keys = keys
    this.args = args
    this.script = script
  }

  answered(reply: Reply): void {
    this.#host.answered(this, reply)
  }

  failed(fault: StoreFault): void {
    this.#host.failed(this, fault)
  }

  takeBack(): boolean {
    if (this.lane.node === undefined && this.batch.length === 1) return false
    this.#host.takenBack(this)
    return true
  }

  isWorthwhile(): boolean {
    this.isAnswered = true
    const nowAt = this.#host.now()
    return this.batch.some(({ dueAt }) => dueAt > nowAt)
  }
}
