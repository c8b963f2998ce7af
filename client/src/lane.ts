import { RateLimitError } from './errors.ts'
import { type Cost, Pacer } from './pacer.ts'

/** What a call says when it enters a Lane. */
export interface LaneCall {
  readonly cost: Cost
  /** Higher goes first. */
  readonly priority: number
  /** Infinity: no deadline. */
  readonly deadlineAtMs: number
  readonly signal: AbortSignal | undefined
}

interface Waiter {
  readonly call: LaneCall
  readonly go: () => void
  readonly fail: (error: unknown) => void
}

/** Every so many calls, the one that waits longest goes, whatever its priority: nobody waits for ever. */
const FAIR_TURN = 8
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A Lane is where the calls of one caller to one server wait for their turn. */
export class Lane {
  readonly pacer = new Pacer()
  readonly #maxWaiting: number
  /** In the order of arrival. */
  readonly #waiting: Waiter[] = []
  #turn = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#timer === undefined
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** enter resolves when the call may go, and rejects as soon as it is known that it cannot before its deadline. */
  enter(call: LaneCall): Promise<void> {
    const nowMs = Date.now()
    if (this.#waiting.length === 0 && this.pacer.waitMs(nowMs, call.cost) === 0) {
      this.pacer.sent(nowMs, call.cost)
      return Promise.resolve()
    }
    const leastMs = this.pacer.leastMs(nowMs, this.#costWith(call))
    if (nowMs + leastMs > call.deadlineAtMs) return Promise.reject(tooLate(leastMs))
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(new RateLimitError('queue_full', `${this.#maxWaiting} calls wait already`, leastMs))
    }
    return this.#wait(call)
  }

  /** look lets go what may go now. It is to be called when an answer came. */
  look(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (;;) {
      const next = this.#next()
      if (next === undefined) return
      const nowMs = Date.now()
      const waitMs = this.pacer.waitMs(nowMs, next.call.cost)
      if (waitMs > 0) {
        this.#failLate(nowMs, waitMs)
        if (this.#waiting.length > 0 && waitMs < Number.POSITIVE_INFINITY) {
          this.#timer = setTimeout(() => this.look(), Math.min(Math.ceil(waitMs), LONGEST_TIMER_MS))
        }
        return
      }
      this.#turn++
      this.#leave(next)
      this.pacer.sent(nowMs, next.call.cost)
      next.go()
    }
  }

  #wait(call: LaneCall): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal, deadlineAtMs } = call
      const leftMs = deadlineAtMs - Date.now()
      const late =
        leftMs > LONGEST_TIMER_MS ? undefined : setTimeout(() => end(tooLate(undefined)), Math.max(0, leftMs))
      const abort = (): void => end(signal?.reason)
      const clean = (): void => {
        clearTimeout(late)
        signal?.removeEventListener('abort', abort)
      }
      const waiter: Waiter = {
        call,
        go: () => {
          clean()
          resolve()
        },
        fail: (error) => {
          clean()
          reject(error)
        },
      }
      const end = (error: unknown): void => {
        this.#leave(waiter)
        waiter.fail(error)
        this.look()
      }
      signal?.addEventListener('abort', abort)
      this.#waiting.push(waiter)
      this.look()
    })
  }

  /** #next is who goes next: the first of the highest priority, and now and then the first of all. */
  #next(): Waiter | undefined {
    if (this.#turn % FAIR_TURN === FAIR_TURN - 1) return this.#waiting[0]
    let next: Waiter | undefined = this.#waiting[0]
    for (const waiter of this.#waiting) if (waiter.call.priority > next.call.priority) next = waiter
    return next
  }

  #leave(waiter: Waiter): void {
    const at = this.#waiting.indexOf(waiter)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  /** #failLate gives up at once on those who would have to wait beyond their deadline. */
  #failLate(nowMs: number, waitMs: number): void {
    if (waitMs === Number.POSITIVE_INFINITY) return
    for (const waiter of [...this.#waiting]) {
      if (waiter.call.deadlineAtMs >= nowMs + waitMs) continue
      this.#leave(waiter)
      waiter.fail(tooLate(waitMs))
    }
  }

  /** #costWith is what a call costs together with all that go before it. */
  #costWith({ cost, priority }: LaneCall): Cost {
    const sum: Record<string, number> = { requests: 0 }
    const add = (each: Cost): void => {
      sum.requests += each.requests ?? 1
      for (const [unit, amount] of Object.entries(each)) if (unit !== 'requests') sum[unit] = (sum[unit] ?? 0) + amount
    }
    for (const { call } of this.#waiting) if (call.priority >= priority) add(call.cost)
    add(cost)
    return sum
  }
}

function tooLate(retryAfterMs: number | undefined): RateLimitError {
  return new RateLimitError('deadline', 'the call would have to wait beyond its deadline', retryAfterMs)
}
