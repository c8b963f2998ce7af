import type { CircuitBreaker } from '../../engine/circuit-breaker.ts'
import type { StoreFault } from '../../engine/store-fault.ts'
import type { Reply } from './connection.ts'
import type { ScriptAsker } from './send-script.ts'
import type { WaitingJob } from './waiting-job.ts'

/** A Lane is what travels together: jobs that wait to be sent, and the calls under way. */
export interface Lane<Job, Answer> {
  waiting: WaitingJob<Job, Answer>[]
  flights: number
}

/** A FlightDesk is told how flights end. */
export interface FlightDesk<Job, Answer> {
  readonly now: () => number
  answered(flight: Flight<Job, Answer>, reply: Reply): void
  failed(flight: Flight<Job, Answer>, fault: StoreFault): void
}

/** A Flight is a call under way. How it ended is told once, however many of its jobs ran out of time before. */
export class Flight<Job, Answer> implements ScriptAsker {
  readonly lane: Lane<Job, Answer>
  readonly batch: readonly WaitingJob<Job, Answer>[]
  readonly jobs: readonly Job[]
  readonly shard: string
  readonly breaker: CircuitBreaker
  readonly startedAt: number
  /** Where it stands among the calls under way. */
  position = 0
  isReported = false
  /** It does not hold up its lane any more: it has ended, or all of its jobs ran out of time. */
  isLanded = false
  /**
   * The server works, and is not silent, whatever becomes of the call: it has answered that keys of the batch are on both sides
   * of a moving slot, or some of the jobs in a way that makes sense.
   */
  isAnswered = false
  readonly #desk: FlightDesk<Job, Answer>

  constructor(
    desk: FlightDesk<Job, Answer>,
    lane: Lane<Job, Answer>,
    batch: readonly WaitingJob<Job, Answer>[],
    shard: string,
    breaker: CircuitBreaker,
    startedAt: number,
  ) {
    this.#desk = desk
    this.lane = lane
    this.batch = batch
    this.jobs = batch.length === 1 ? [batch[0].job] : batch.map(({ job }) => job)
    this.shard = shard
    this.breaker = breaker
    this.startedAt = startedAt
  }

  answered(reply: Reply): void {
    this.#desk.answered(this, reply)
  }

  failed(fault: StoreFault): void {
    this.#desk.failed(this, fault)
  }

  isWorthwhile(): boolean {
    this.isAnswered = true
    const nowAt = this.#desk.now()
    return this.batch.some(({ dueAt }) => dueAt > nowAt)
  }
}
