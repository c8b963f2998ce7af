import { CircuitBreaker } from '../../engine/circuit-breaker.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import type { BatchFormat } from './batch-format.ts'
import type { RedisConnection } from './connection.ts'
import { LimitTexts } from './limit-texts.ts'
import { type Call, sendScript } from './send-script.ts'

/** What a batcher tells. */
export interface BatcherEvents {
  breakerChanged(shard: string, state: CircuitBreaker['state']): void
  /** A call ended, or ran out of time: how long it took, how many decisions it carried, and how it failed if it did. */
  callEnded(shard: string, durationMs: number, decisions: number, fault: StoreFault | undefined): void
}

/** A Waiting is a job that waits for its answer. Its time starts at the end of the turn it came in. */
interface Waiting<Job, Answer> {
  readonly job: Job
  readonly timeoutMs: number
  /** When its time is up; 0 until its time starts. */
  dueAt: number
  /** How often it got its whole time anew, because the process had stalled. */
  stalls: number
  isSettled: boolean
  resolve(answer: Answer): void
  reject(fault: StoreFault): void
}

/** A Lane is what travels together: jobs that wait to be sent, and the calls under way. */
interface Lane<Job, Answer> {
  waiting: Waiting<Job, Answer>[]
  flights: number
  /** Rejects jobs that wait for too long behind the calls under way. */
  holdTimer: NodeJS.Timeout | undefined
}

/** A Flight is a call under way. How it ended is told once, however many of its jobs ran out of time before. */
interface Flight<Job, Answer> {
  readonly lane: Lane<Job, Answer>
  readonly batch: readonly Waiting<Job, Answer>[]
  readonly shard: string
  readonly breaker: CircuitBreaker
  readonly startedAt: number
  isReported: boolean
  /** It does not hold up its lane any more: it has ended, or all of its jobs ran out of time. */
  isLanded: boolean
  /**
   * The server works, and is not silent, whatever becomes of the call: it has answered that keys of the batch are on both sides
   * of a moving slot, or some of the jobs in a way that makes sense.
   */
  isAnswered: boolean
}

const MAX_JOBS = 512
/** Keys and limits of a call are numbered in 16 bits. */
const MAX_NAMES = 32_768
const MAX_CALLS = 256
/** While this many calls of a lane are under way, its jobs wait and join: the busier the server, the larger the batches. */
const MAX_FLIGHTS = 2
/** A timer that is this late says that the process itself was busy. */
const BUSY_MS = 1
/** So often a job gets its whole time anew after a stall. It is a bound, in case the store is silent as well. */
const MAX_STALLS = 3

/**
 * Batcher collects the jobs that arrive in one turn of the event loop and sends them as one script call for each lane
 * (one for a single server; one for each partition of a cluster, whose keys must share a slot). A lone job leaves at
 * the end of the turn it came in; while two calls of its lane are under way it waits for one of them to end, and joins the next batch.
 * Every job is settled by its deadline, whatever the server does. A stall of this process is no fault of the server: after
 * it, what has arrived is read first, and the server has its whole time once more, three times at the most. A reply that comes later is
 * dropped, and nothing is ever sent again.
 */
export class Batcher<Job, Answer> {
  readonly #connection: RedisConnection
  readonly #format: BatchFormat<Job, Answer>
  readonly #events: BatcherEvents
  readonly #now: () => number
  readonly #texts: LimitTexts
  readonly #lanes = new Map<string, Lane<Job, Answer>>()
  readonly #breakers: Map<string, CircuitBreaker>
  #isScheduled = false
  #calls = 0
  /** For tests: the time that scripts are told. */
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
    this.#events = events
    this.#now = options.now ?? (() => performance.now())
    this.#scriptNowMs = options.scriptNowMs
    this.#texts = new LimitTexts(options.scriptNowMs)
  }

  /** submit does a job with the others of its lane. It rejects with a StoreFault, and with nothing else. */
  submit(lane: string, job: Job, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const waiting = { job, timeoutMs, dueAt: 0, stalls: 0, isSettled: false, resolve, reject }
      const others = this.#lanes.get(lane)
      if (others === undefined) this.#lanes.set(lane, { waiting: [waiting], flights: 0, holdTimer: undefined })
      else others.waiting.push(waiting)
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(() => this.#flush())
    })
  }

  /** breakerOf returns the circuit breaker of a server. */
  breakerOf(shard: string): CircuitBreaker {
    let breaker = this.#breakers.get(shard)
    if (breaker === undefined) {
      breaker = new CircuitBreaker({ onChange: (state) => this.#events.breakerChanged(shard, state) })
      this.#breakers.set(shard, breaker)
    }
    return breaker
  }

  #flush(): void {
    this.#isScheduled = false
    const nowAt = this.#now()
    for (const lane of this.#lanes.values()) {
      for (const waiting of lane.waiting) if (waiting.dueAt === 0) waiting.dueAt = nowAt + waiting.timeoutMs
      if (lane.waiting.length > 0) this.#depart(lane)
    }
  }

  /** #depart sends what waits in a lane as far as there is room for calls. The rest is held, and its time runs. */
  #depart(lane: Lane<Job, Answer>): void {
    clearTimeout(lane.holdTimer)
    const batches = [...this.#split(lane.waiting)]
    lane.waiting = []
    for (const batch of batches) {
      if (lane.flights < MAX_FLIGHTS) this.#send(lane, batch)
      else lane.waiting.push(...batch)
    }
    if (lane.waiting.length === 0) return
    const nextAt = soonestDue(lane.waiting)
    const ring = (): void => {
      this.#excuse(lane.waiting, nextAt)
      setImmediate(() => this.#expireHeld(lane))
    }
    lane.holdTimer = setTimeout(ring, Math.max(0, Math.ceil(nextAt - this.#now())))
  }

  /**
   * #excuse gives jobs their whole time anew when a timer rings much later than it should have: the process has stalled. It says
   * whether the process has.
   */
  #excuse(jobs: readonly Waiting<Job, Answer>[], ringAt: number): boolean {
    const nowAt = this.#now()
    if (nowAt - ringAt <= BUSY_MS) return false
    for (const waiting of jobs) {
      if (waiting.isSettled || waiting.dueAt > nowAt || waiting.stalls >= MAX_STALLS) continue
      waiting.stalls++
      waiting.dueAt = nowAt + waiting.timeoutMs
    }
    return true
  }

  /** #expireHeld rejects the jobs of a lane whose turn did not come in time. */
  #expireHeld(lane: Lane<Job, Answer>): void {
    const nowAt = this.#now()
    const late = lane.waiting.filter(({ dueAt }) => dueAt <= nowAt)
    if (late.length > 0) {
      const shard = this.#shardOf(late[0])
      lane.waiting = lane.waiting.filter(({ dueAt }) => dueAt > nowAt)
      refuse(late, new StoreFault('timeout', shard, 'no turn within the deadline'))
    }
    if (lane.waiting.length > 0) this.#depart(lane)
  }

  #send(lane: Lane<Job, Answer>, batch: readonly Waiting<Job, Answer>[]): void {
    const shard = this.#shardOf(batch[0])
    const breaker = this.breakerOf(shard)
    const startedAt = this.#now()
    if (this.#calls >= MAX_CALLS) {
      refuse(batch, new StoreFault('overloaded', shard, `${MAX_CALLS} calls under way`))
      return
    }
    if (!breaker.allows(startedAt)) {
      refuse(batch, new StoreFault('breaker_open', shard, 'waiting for it to recover'))
      return
    }
    const flight: Flight<Job, Answer> = {
      lane,
      batch,
      shard,
      breaker,
      startedAt,
      isReported: false,
      isLanded: false,
      isAnswered: false,
    }
    const jobs = batch.map(({ job }) => job)
    const giveUpAt = Math.max(...batch.map(({ dueAt }) => dueAt))
    this.#calls++
    lane.flights++
    const stopWatching = this.#watchDeadlines(flight)
    const ended = (): void => {
      this.#calls--
      stopWatching()
      this.#land(flight)
    }
    const isWorthwhile = (): boolean => {
      flight.isAnswered = true
      return this.#now() < giveUpAt
    }
    this.#run(flight, jobs, isWorthwhile).then(
      (answers) => {
        ended()
        const nonsense = batch.filter((_, i) => answers[i] === undefined)
        flight.isAnswered ||= nonsense.length < batch.length
        const fault = nonsense.length === 0 ? undefined : new StoreFault('broken', shard, 'the reply makes no sense')
        this.#report(flight, fault)
        if (fault !== undefined) refuse(nonsense, fault)
        answers.forEach((answer, i) => {
          if (answer !== undefined) settle(batch[i], answer)
        })
      },
      (error: unknown) => {
        ended()
        const fault = error instanceof StoreFault ? error : new StoreFault('broken', shard, String(error))
        this.#report(flight, fault)
        refuse(batch, fault)
      },
    )
  }

  async #run(
    { shard }: Flight<Job, Answer>,
    jobs: readonly Job[],
    isWorthwhile: () => boolean,
  ): Promise<readonly (Answer | undefined)[]> {
    const { keys, args } = this.#format.encode(jobs, this.#texts, this.#scriptNowMs?.())
    const call: Call = { connection: this.#connection, shard, script: this.#format.script, keys, args }
    const answers = this.#format.decode(await sendScript(call, isWorthwhile), jobs)
    if (answers !== undefined) return answers
    throw new StoreFault('broken', shard, 'the reply has another size than it should')
  }

  #shardOf({ job }: Waiting<Job, Answer>): string {
    return this.#connection.shardOf(this.#format.keyOf(job))
  }

  /** #split divides the jobs of a lane into calls. */
  *#split(lane: readonly Waiting<Job, Answer>[]): Generator<readonly Waiting<Job, Answer>[]> {
    let batch: Waiting<Job, Answer>[] = []
    let names = 0
    for (const waiting of lane) {
      const more = this.#format.sizeOf(waiting.job)
      if (batch.length > 0 && (batch.length === MAX_JOBS || names + more > MAX_NAMES)) {
        yield batch
        batch = []
        names = 0
      }
      batch.push(waiting)
      names += more
    }
    yield batch
  }

  /** #land lets the next jobs of a lane go. */
  #land(flight: Flight<Job, Answer>): void {
    if (flight.isLanded) return
    flight.isLanded = true
    flight.lane.flights--
    if (flight.lane.waiting.some(({ dueAt }) => dueAt > 0)) this.#depart(flight.lane)
  }

  /** #report tells the breaker and the listener how a call ended. What comes after its deadline is not reported again. */
  #report(flight: Flight<Job, Answer>, fault: StoreFault | undefined, hasStalled = false): void {
    if (flight.isReported) return
    flight.isReported = true
    const { batch, shard, breaker, startedAt } = flight
    if (fault === undefined || flight.isAnswered) breaker.succeeded()
    // Without a connection nothing was asked, and asking costs nothing: the breaker has nothing to protect.
    // Nor does a process that stalls know anything about the server.
    else if (fault.reason === 'offline' || hasStalled) breaker.notTried()
    else breaker.failed(this.#now())
    this.#events.callEnded(shard, this.#now() - startedAt, batch.length, fault)
  }

  /**
   * #watchDeadlines rejects the jobs of a call whose time is up. It looks after the sockets have been read once more:
   * the reply may be there already.
   */
  #watchDeadlines(flight: Flight<Job, Answer>): () => void {
    const { batch } = flight
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const arm = (): void => {
      const nextAt = soonestDue(batch)
      if (nextAt === Number.POSITIVE_INFINITY) return
      const ring = (): void => {
        const hasStalled = this.#excuse(batch, nextAt)
        setImmediate(() => expire(hasStalled))
      }
      timer = setTimeout(ring, Math.max(0, Math.ceil(nextAt - this.#now())))
    }
    const expire = (hasStalled: boolean): void => {
      if (isOver) return
      this.#expire(flight, hasStalled)
      arm()
    }
    arm()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }

  /** #expire rejects the jobs of a call whose time is up. What is due after a stall has had all its chances. */
  #expire(flight: Flight<Job, Answer>, hasStalled: boolean): void {
    const { batch, shard, breaker } = flight
    const nowAt = this.#now()
    const late = batch.filter(({ isSettled, dueAt }) => !isSettled && dueAt <= nowAt)
    if (late.length === 0) return
    const fault = new StoreFault('timeout', shard, 'no answer within the deadline')
    this.#report(flight, fault, hasStalled)
    refuse(late, fault)
    if (breaker.state === 'open') this.#connection.reset(shard)
    if (batch.every(({ isSettled }) => isSettled)) this.#land(flight)
  }
}

export interface BatcherOptions {
  /** The clock of deadlines and breakers. Default: the monotonic one. */
  readonly now?: () => number
  /** For tests: the time that scripts are told instead of asking the server. */
  readonly scriptNowMs?: () => number
  /** The circuit breakers, by server, where several batchers talk to the same ones. */
  readonly breakers?: Map<string, CircuitBreaker>
}

function refuse(batch: readonly Waiting<unknown, never>[], fault: StoreFault): void {
  for (const waiting of batch) {
    if (waiting.isSettled) continue
    waiting.isSettled = true
    waiting.reject(fault)
  }
}

function settle<Answer>(waiting: Waiting<unknown, Answer>, answer: Answer): void {
  if (waiting.isSettled) return
  waiting.isSettled = true
  waiting.resolve(answer)
}

/** soonestDue returns when the first of the jobs that still wait is due; infinity when none does. */
function soonestDue(jobs: readonly Pick<Waiting<unknown, never>, 'isSettled' | 'dueAt'>[]): number {
  let nextAt = Number.POSITIVE_INFINITY
  for (const { isSettled, dueAt } of jobs) if (!isSettled) nextAt = Math.min(nextAt, dueAt)
  return nextAt
}
