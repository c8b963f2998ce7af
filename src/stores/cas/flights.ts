import { CircuitBreaker } from '../../engine/circuit-breaker.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import { DeadlineTimer } from '../redis/batch/deadline-timer.ts'
import { excuse, promiseJob, refuse, refuseAll, soonestDue, type WaitingJob } from '../redis/batch/waiting-job.ts'
import { Attempt, type AttemptHost, type Waiting } from './attempt.ts'
import type { CasJob } from './cas-job.ts'

/** Events of calls to an engine, in the words of the other shared store. */
export interface CasEvents {
  connected?(shard: string): void
  disconnected?(shard: string, reason: string): void
  breakerChanged?(shard: string, state: CircuitBreaker['state']): void
  /** A flight ended, or ran out of time: how long it took, what it carried, and how it failed if it did. */
  callEnded?(shard: string, durationMs: number, decisions: number, fault: StoreFault | undefined): void
}

interface Flight {
  readonly batch: readonly Waiting[]
  readonly startedAt: number
  isReported: boolean
}

const MAX_FLIGHTS = 4
const MAX_JOBS = 512
const MAX_WAITING = 20_000
/** Races for one counter that a job may lose before it gives up. */
const MAX_TRIES = 24
const LONGEST_PAUSE_MS = 32
/** A silence as long as that has failed: see the batcher of Redis. */
const SILENT_MS = 100

/**
 * Collects the jobs that arrive in one turn of the event loop, and carries them to the engine: all that wait for a
 * counter are made on it together, and written once. While a counter is on its way, its jobs wait and join the next
 * flight, so that this process never races itself. What lost a race to another process flies again with what is stored
 * by then, a few times, and with pauses that differ from those of others.
 *
 * Every job is settled by its deadline. One whose outcome is not known is never made again.
 */
export class Flights {
  readonly #host: AttemptHost
  readonly #events: CasEvents
  readonly #now: () => number
  readonly #breaker: CircuitBreaker
  readonly #deadlines: DeadlineTimer
  readonly #flying = new Set<Flight>()
  /** Counters on their way, or pausing after a lost race. */
  readonly #busy = new Set<string>()
  #waiting: Waiting[] = []
  #isScheduled = false
  #isReached: boolean | undefined
  readonly #take = (waiting: WaitingJob<CasJob<unknown>, unknown>): void => this.#wait(waiting)

  constructor(host: AttemptHost, events: CasEvents, now: () => number) {
    this.#host = host
    this.#events = events
    this.#now = now
    this.#breaker = new CircuitBreaker({
      onChange: (state) => events.breakerChanged?.(host.engine.name, state),
    })
    this.#deadlines = new DeadlineTimer(now, {
      stalled: (nowAt) => this.#excuse(nowAt),
      due: (upTo) => this.#expire(upTo),
    })
  }

  /** Does a job with others. It rejects with a StoreFault, and with nothing else. */
  submit<Answer>(job: CasJob<Answer>, timeoutMs: number): Promise<Answer> {
    const { name, maxNames } = this.#host.engine
    if (job.names.length > maxNames) {
      const detail = `a request names ${job.names.length} counters; this store decides about ${maxNames} at a time`
      return Promise.reject(new StoreFault('unavailable', name, detail))
    }
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new StoreFault('overloaded', name, `${MAX_WAITING} requests are waiting`))
    }
    return promiseJob(job as CasJob<unknown>, '', timeoutMs, this.#take) as Promise<Answer>
  }

  #wait(waiting: WaitingJob<CasJob<unknown>, unknown>): void {
    this.#waiting.push(Object.assign(waiting, { tries: 0 }))
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const nowAt = this.#now()
      for (const each of this.#waiting) if (each.dueAt === 0) each.dueAt = nowAt + each.timeoutMs
      this.#deadlines.watch(soonestDue(this.#waiting))
      this.#depart()
    })
  }

  /** Lets what waits go, as far as its counters and flights are free. */
  #depart(): void {
    while (this.#flying.size < MAX_FLIGHTS) {
      const batch = this.#nextBatch()
      if (batch.length === 0) return
      const nowAt = this.#now()
      if (this.#breaker.allows(nowAt)) void this.#fly(batch)
      else refuseAll(batch, new StoreFault('breaker_open', this.#host.engine.name, 'waiting for the store to recover'))
    }
  }

  /** Takes jobs in order. Those that share a counter never overtake each other. */
  #nextBatch(): readonly Waiting[] {
    const { maxNames } = this.#host.engine
    const batch: Waiting[] = []
    const rest: Waiting[] = []
    const names = new Set<string>()
    const wanted = new Set<string>()
    for (const waiting of this.#waiting) {
      if (waiting.isSettled) continue
      const { job } = waiting
      const isFree = job.names.every((name) => !this.#busy.has(name) && !wanted.has(name))
      const added = isFree ? job.names.reduce((sum, name) => sum + (names.has(name) ? 0 : 1), 0) : 0
      if (isFree && batch.length < MAX_JOBS && names.size + added <= maxNames) {
        batch.push(waiting)
        for (const name of job.names) names.add(name)
      } else {
        rest.push(waiting)
        for (const name of job.names) wanted.add(name)
      }
    }
    this.#waiting = rest
    for (const name of names) this.#busy.add(name)
    return batch
  }

  async #fly(batch: readonly Waiting[]): Promise<void> {
    const flight = { batch, startedAt: this.#now(), isReported: false }
    this.#flying.add(flight)
    let lost: readonly Waiting[] = []
    let undone: readonly CasJob<unknown>[] = []
    try {
      const result = await new Attempt(this.#host, batch).go()
      lost = result.lost
      undone = result.undone
      this.#report(flight, result.fault)
    } catch (error) {
      const fault = this.#faultOf(error)
      this.#report(flight, fault)
      refuseAll(batch, fault)
    }
    this.#flying.delete(flight)
    this.#land(batch, lost, undone)
  }

  /**
   * Frees the counters of a flight, and lets what lost a race try again, before all others: after what takes back the
   * parts of it that were stored.
   */
  #land(batch: readonly Waiting[], lost: readonly Waiting[], undone: readonly CasJob<unknown>[]): void {
    const again = undone.map((job) => this.#background(job))
    let tries = 0
    for (const waiting of lost) {
      if (waiting.isSettled) continue
      waiting.tries++
      tries = Math.max(tries, waiting.tries)
      if (waiting.tries < MAX_TRIES) again.push(waiting)
      else refuse(waiting, new StoreFault('overloaded', this.#host.engine.name, `lost ${MAX_TRIES} races in a row`))
    }
    const held = new Set(again.flatMap(({ job }) => job.names))
    for (const { job } of batch) for (const name of job.names) if (!held.has(name)) this.#busy.delete(name)
    this.#waiting = [...again, ...this.#waiting]
    const free = (): void => {
      for (const name of held) this.#busy.delete(name)
      this.#depart()
    }
    if (tries <= 1) free()
    else {
      setTimeout(free, Math.random() * Math.min(2 ** tries, LONGEST_PAUSE_MS))
      this.#depart()
    }
    if (this.#flying.size === 0 && this.#waiting.length === 0) this.#deadlines.rest()
  }

  /** A job that no request waits for. What it takes back is missing for a window at most where it fails. */
  #background(job: CasJob<unknown>): Waiting {
    const made: WaitingJob<CasJob<unknown>, unknown>[] = []
    promiseJob(job, '', LONGEST_UNDO_MS, (waiting) => made.push(waiting)).catch(() => {})
    return Object.assign(made[0], { tries: 0, dueAt: this.#now() + LONGEST_UNDO_MS })
  }

  #faultOf(error: unknown): StoreFault {
    if (error instanceof StoreFault) return error
    return new StoreFault('broken', this.#host.engine.name, String(error), error)
  }

  #report(flight: Flight, fault: StoreFault | undefined): void {
    if (flight.isReported) return
    flight.isReported = true
    const nowAt = this.#now()
    const { name } = this.#host.engine
    if (fault === undefined) this.#breaker.succeeded()
    else if (fault.reason === 'offline') this.#breaker.notTried()
    else this.#breaker.failed(nowAt, fault.reason === 'timeout' ? SILENT_MS : 0)
    const isReached = fault === undefined
    if (isReached !== this.#isReached) {
      if (isReached) this.#events.connected?.(name)
      else this.#events.disconnected?.(name, fault.message)
      this.#isReached = isReached
    }
    const decisions = flight.batch.reduce((sum, { job }) => sum + job.decisions, 0)
    this.#events.callEnded?.(name, nowAt - flight.startedAt, decisions, fault)
  }

  /** Restarts the time of jobs that are due, because this process has stalled. */
  #excuse(nowAt: number): void {
    excuse(this.#waiting as never, nowAt)
    for (const { batch } of this.#flying) excuse(batch as never, nowAt)
  }

  /** Rejects the jobs whose time is up: those in flight are not made again, whatever becomes of the flight. */
  #expire(upTo: number): void {
    const { name } = this.#host.engine
    const isLate = ({ isSettled, dueAt }: Waiting): boolean => !isSettled && dueAt > 0 && dueAt <= upTo
    for (const flight of this.#flying) {
      const late = flight.batch.filter(isLate)
      if (late.length === 0) continue
      const fault = new StoreFault('timeout', name, 'no answer within the deadline')
      this.#report(flight, fault)
      refuseAll(late, fault)
    }
    refuseAll(this.#waiting.filter(isLate), new StoreFault('timeout', name, 'not sent within the deadline'))
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled)
    const all = [this.#waiting, ...Array.from(this.#flying, ({ batch }) => batch)]
    this.#deadlines.watch(Math.min(...all.map(soonestDue)))
  }
}

/** How long it may take to take something back. No request waits. */
const LONGEST_UNDO_MS = 2_000
