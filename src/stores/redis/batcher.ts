import type { Verdict } from '../../core/decision.ts'
import { CircuitBreaker } from '../../engine/circuit-breaker.ts'
import { StoreFault } from '../../engine/store-fault.ts'
import type { RedisConnection } from './connection.ts'
import type { Script } from './scripts.ts'
import { type Call, sendScript } from './send-script.ts'
import { decodeVerdicts, encodeGroups, type Group, isReplyTo, LimitTexts } from './wire-format.ts'

/** What a batcher tells. */
export interface BatcherEvents {
  breakerChanged(shard: string, state: CircuitBreaker['state']): void
  /** A call ended, or ran out of time: how long it took, how many decisions it carried, and how it failed if it did. */
  callEnded(shard: string, durationMs: number, decisions: number, fault: StoreFault | undefined): void
}

/** A Waiting is a group whose verdicts somebody waits for. Its time starts at the end of the turn it came in. */
interface Waiting {
  readonly group: Group
  readonly timeoutMs: number
  /** When its time is up; 0 until its time starts. */
  dueAt: number
  isSettled: boolean
  resolve(verdicts: readonly Verdict[]): void
  reject(fault: StoreFault): void
}

/** A Lane is what travels together: groups that wait to be sent, and the calls under way. */
interface Lane {
  waiting: Waiting[]
  flights: number
  /** Rejects groups that wait for too long behind the calls under way. */
  holdTimer: NodeJS.Timeout | undefined
}

/** A Flight is a call under way. How it ended is told once, however many of its groups ran out of time before. */
interface Flight {
  readonly lane: Lane
  readonly batch: readonly Waiting[]
  readonly shard: string
  readonly breaker: CircuitBreaker
  readonly startedAt: number
  isReported: boolean
  /** It does not hold up its lane any more: it has ended, or all of its groups ran out of time. */
  isLanded: boolean
  /** The server has answered, but keys of the batch are on both sides of a moving slot: it is well, and not silent. */
  isMoving: boolean
}

const MOST_GROUPS = 512
/** Keys and limits of a call are numbered in 16 bits. */
const MOST_CHARGES = 32_768
const MOST_CALLS = 256
/** While this many calls of a lane are under way, its groups wait and join: the busier the server, the larger the batches. */
const MOST_FLIGHTS = 2
/** A timer that is this late says that the process itself was busy. */
const BUSY_MS = 1

/**
 * Batcher collects the groups that arrive in one turn of the event loop and sends them as one script call for each lane
 * (one for a single server; one for each partition of a cluster, whose keys must share a slot). A lone group leaves at
 * the end of the turn it came in; while two calls of its lane are under way it waits for one of them, and for company.
 * Every group is settled by its deadline, whatever the server does; a reply that comes later is dropped, and nothing is
 * ever sent again.
 */
export class Batcher {
  readonly #connection: RedisConnection
  readonly #script: Script
  readonly #events: BatcherEvents
  readonly #now: () => number
  readonly #texts: LimitTexts
  readonly #lanes = new Map<string, Lane>()
  readonly #breakers = new Map<string, CircuitBreaker>()
  #isScheduled = false
  #calls = 0
  /** For tests: the time that scripts are told. */
  readonly #scriptNowMs: (() => number) | undefined

  constructor(connection: RedisConnection, script: Script, events: BatcherEvents, options: BatcherOptions = {}) {
    this.#connection = connection
    this.#script = script
    this.#events = events
    this.#now = options.now ?? (() => performance.now())
    this.#scriptNowMs = options.scriptNowMs
    this.#texts = new LimitTexts(options.scriptNowMs)
  }

  /** submit decides a group with the others of its lane. It rejects with a StoreFault, and with nothing else. */
  submit(lane: string, group: Group, timeoutMs: number): Promise<readonly Verdict[]> {
    return new Promise((resolve, reject) => {
      const waiting = { group, timeoutMs, dueAt: 0, isSettled: false, resolve, reject }
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
  #depart(lane: Lane): void {
    clearTimeout(lane.holdTimer)
    const batches = [...split(lane.waiting)]
    lane.waiting = []
    for (const batch of batches) {
      if (lane.flights < MOST_FLIGHTS) this.#send(lane, batch)
      else lane.waiting.push(...batch)
    }
    if (lane.waiting.length === 0) return
    const nextAt = Math.min(...lane.waiting.map(({ dueAt }) => dueAt))
    const look = (): unknown => setImmediate(() => this.#expireHeld(lane))
    lane.holdTimer = setTimeout(look, Math.max(0, Math.ceil(nextAt - this.#now())))
  }

  /** #expireHeld rejects the groups of a lane whose turn did not come in time. */
  #expireHeld(lane: Lane): void {
    const nowAt = this.#now()
    const late = lane.waiting.filter(({ dueAt }) => dueAt <= nowAt)
    if (late.length > 0) {
      const shard = this.#connection.shardOf(late[0].group.charges[0].key)
      lane.waiting = lane.waiting.filter(({ dueAt }) => dueAt > nowAt)
      refuse(late, new StoreFault('timeout', shard, 'no turn within the deadline'))
    }
    if (lane.waiting.length > 0) this.#depart(lane)
  }

  #send(lane: Lane, batch: readonly Waiting[]): void {
    const shard = this.#connection.shardOf(batch[0].group.charges[0].key)
    const breaker = this.breakerOf(shard)
    const startedAt = this.#now()
    if (this.#calls >= MOST_CALLS) {
      refuse(batch, new StoreFault('overloaded', shard, `${MOST_CALLS} calls under way`))
      return
    }
    if (!breaker.allows(startedAt)) {
      refuse(batch, new StoreFault('breaker_open', shard, 'waiting for it to recover'))
      return
    }
    const flight: Flight = {
      lane,
      batch,
      shard,
      breaker,
      startedAt,
      isReported: false,
      isLanded: false,
      isMoving: false,
    }
    const groups = batch.map(({ group }) => group)
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
      flight.isMoving = true
      return this.#now() < giveUpAt
    }
    this.#run(flight, groups, isWorthwhile).then(
      (verdicts) => {
        ended()
        this.#report(flight, undefined)
        verdicts.forEach((each, i) => {
          settle(batch[i], each)
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

  async #run({ shard }: Flight, groups: readonly Group[], isWorthwhile: () => boolean): Promise<Verdict[][]> {
    const { keys, args } = encodeGroups(groups, this.#texts, this.#scriptNowMs?.())
    const call: Call = { connection: this.#connection, shard, script: this.#script, keys, args }
    const reply = await sendScript(call, isWorthwhile)
    if (isReplyTo(groups, reply)) return decodeVerdicts(reply, groups)
    throw new StoreFault('broken', shard, 'the reply has another size than it should')
  }

  /** #land lets the next groups of a lane go. */
  #land(flight: Flight): void {
    if (flight.isLanded) return
    flight.isLanded = true
    flight.lane.flights--
    if (flight.lane.waiting.some(({ dueAt }) => dueAt > 0)) this.#depart(flight.lane)
  }

  /** #report tells the breaker, and whoever listens, how a call ended. What comes after its deadline is no news. */
  #report(flight: Flight, fault: StoreFault | undefined): void {
    if (flight.isReported) return
    flight.isReported = true
    const { batch, shard, breaker, startedAt } = flight
    if (fault === undefined || flight.isMoving) breaker.succeeded()
    // Without a connection nothing was asked, and asking costs nothing: the breaker has nothing to protect.
    else if (fault.reason === 'offline') breaker.notTried()
    else breaker.failed(this.#now())
    this.#events.callEnded(shard, this.#now() - startedAt, batch.length, fault)
  }

  /**
   * #watchDeadlines rejects the groups of a call whose time is up. It looks after the sockets have been read once more:
   * the reply may be there already. Time in which the process itself was busy is given back, up to the deadline again: the
   * call may not even have been written.
   */
  #watchDeadlines(flight: Flight): () => void {
    const { batch } = flight
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const arm = (): void => {
      const next = batch.reduce<Waiting | undefined>(soonest, undefined)
      if (next === undefined) return
      const { dueAt, timeoutMs } = next
      const ring = (): void => {
        const lateMs = this.#now() - dueAt
        if (lateMs > BUSY_MS) timer = setTimeout(look, Math.min(lateMs, timeoutMs))
        else look()
      }
      timer = setTimeout(ring, Math.max(0, Math.ceil(dueAt - this.#now())))
    }
    const look = (): unknown => setImmediate(expire)
    const expire = (): void => {
      if (isOver) return
      this.#expire(flight)
      arm()
    }
    arm()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }

  #expire(flight: Flight): void {
    const { batch, shard, breaker } = flight
    const nowAt = this.#now()
    const late = batch.filter(({ isSettled, dueAt }) => !isSettled && dueAt <= nowAt)
    if (late.length === 0) return
    const fault = new StoreFault('timeout', shard, 'no answer within the deadline')
    this.#report(flight, fault)
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
}

function refuse(batch: readonly Waiting[], fault: StoreFault): void {
  for (const waiting of batch) {
    if (waiting.isSettled) continue
    waiting.isSettled = true
    waiting.reject(fault)
  }
}

function settle(waiting: Waiting, verdicts: readonly Verdict[]): void {
  if (waiting.isSettled) return
  waiting.isSettled = true
  waiting.resolve(verdicts)
}

/** soonest returns the one of two groups that is due first, of those that still wait. */
function soonest(first: Waiting | undefined, other: Waiting): Waiting | undefined {
  if (other.isSettled) return first
  return first === undefined || other.dueAt < first.dueAt ? other : first
}

/** split divides the groups of a lane into calls. */
function* split(lane: readonly Waiting[]): Generator<readonly Waiting[]> {
  let batch: Waiting[] = []
  let charges = 0
  for (const waiting of lane) {
    const more = waiting.group.charges.length
    if (batch.length > 0 && (batch.length === MOST_GROUPS || charges + more > MOST_CHARGES)) {
      yield batch
      batch = []
      charges = 0
    }
    batch.push(waiting)
    charges += more
  }
  yield batch
}
