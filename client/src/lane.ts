import type { Throttle } from './accepts.ts'
import { RateLimitError } from './errors.ts'
import { type Cost, Pacer } from './pacer.ts'

/** What a call says when it enters a Lane. */
export interface LaneCall {
  readonly cost: Cost
  /** Higher goes first. */
  readonly priority: number
  /** The order of calls: lower goes first within a priority, also when it was refused and returns. */
  readonly order: number
  /** As now() counts. Infinity: no deadline. */
  readonly deadlineAtMs: number
  /** Ends the wait: at the deadline, too. */
  readonly signal: AbortSignal
}

interface Waiter {
  readonly call: LaneCall
  /** Until then it lets itself be spread. After that it goes as soon as there is budget. */
  readonly patientUntilMs: number
  readonly go: () => void
  readonly fail: (error: unknown) => void
}

/** Every so many turns the oldest call goes first, whatever its priority, so that none waits for ever. */
const FAIR_TURN = 8

/** A monotonic clock. */
export const now = (): number => performance.now()

/** Where the calls of one caller to one server wait for their turn. */
export class Lane {
  readonly pacer = new Pacer()
  readonly throttle: Throttle | undefined
  /** By priority, then in their order. */
  #waiters: Waiter[] = []
  #turn = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** No deadline of a waiting call is before it. */
  #earliestMs = Number.POSITIVE_INFINITY

  constructor(throttle?: Throttle) {
    this.throttle = throttle
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.pacer.isIdle
  }

  get waiting(): number {
    return this.#waiters.length
  }

  /** Resolves when the call may go, and rejects as soon as it is known that it cannot before its deadline. */
  async enter(call: LaneCall, maxWaiting: number): Promise<void> {
    const { cost, priority, order, deadlineAtMs, signal } = call
    signal.throwIfAborted()
    const nowMs = now()
    let requests = cost.requests ?? 1
    let at = 0
    for (; at < this.waiting; at++) {
      const other = this.#waiters[at].call
      if (other.priority < priority || (other.priority === priority && other.order > order)) break
      requests += other.cost.requests ?? 1
    }
    const leastMs = this.pacer.leastMs(nowMs, { ...cost, requests })
    if (nowMs + leastMs > deadlineAtMs) throw tooLate(leastMs)
    if (this.waiting >= maxWaiting && this.pacer.waitMs(nowMs, cost) > 0) {
      throw new RateLimitError('queue_full', 'the queue is full', leastMs)
    }
    this.#earliestMs = Math.min(this.#earliestMs, deadlineAtMs)
    await new Promise<void>((go, fail) => {
      const waiter: Waiter = { call, patientUntilMs: (nowMs + deadlineAtMs) / 2, go, fail }
      // The signal belongs to the call and ends with it. Receiving it later does no harm.
      signal.addEventListener('abort', () => {
        this.#waiters = this.#waiters.filter((each) => each !== waiter)
        fail(signal.reason)
        this.look()
      })
      this.#waiters.splice(at, 0, waiter)
      this.look()
    })
  }

  /** Lets go what may go now. It is to be called when an answer came. */
  look(): void {
    clearTimeout(this.#timer)
    const nowMs = now()
    while (this.waiting > 0) {
      const at = this.#next()
      const { call, patientUntilMs, go } = this.#waiters[at]
      const patienceMs = patientUntilMs - nowMs
      const waitMs = this.pacer.waitMs(nowMs, call.cost, patienceMs > 0)
      if (waitMs > 0) {
        const lookMs = patienceMs > 0 ? Math.min(waitMs, patienceMs) : waitMs
        this.#timer = setTimeout(() => this.look(), Math.ceil(lookMs))
        if (nowMs + waitMs > this.#earliestMs) this.#failLate(nowMs)
        return
      }
      this.#turn++
      this.#waiters.splice(at, 1)
      this.pacer.sent(nowMs, call.cost)
      go()
    }
  }

  /** Returns the next call: the first in line, and now and then the one that was made first. */
  #next(): number {
    let next = 0
    if (this.#turn % FAIR_TURN === FAIR_TURN - 1) {
      for (let i = 1; i < this.waiting; i++) {
        if (this.#waiters[i].call.order < this.#waiters[next].call.order) next = i
      }
    }
    return next
  }

  /** Immediately fails calls that would have to wait beyond their deadline. */
  #failLate(nowMs: number): void {
    const late: (() => void)[] = []
    this.#earliestMs = Number.POSITIVE_INFINITY
    this.#waiters = this.#waiters.filter(({ call: { cost, deadlineAtMs }, fail }) => {
      const leastMs = this.pacer.leastMs(nowMs, cost)
      const isLate = nowMs + leastMs > deadlineAtMs
      if (isLate) late.push(() => fail(tooLate(leastMs)))
      else this.#earliestMs = Math.min(this.#earliestMs, deadlineAtMs)
      return !isLate
    })
    for (const fail of late) fail()
    if (late.length > 0) this.look()
  }
}

function tooLate(retryAfterMs: number): RateLimitError {
  return new RateLimitError('deadline', 'no turn by the deadline', retryAfterMs)
}
