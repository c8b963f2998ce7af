import { RateLimitError } from './errors.ts'
import { Pacer } from './pacer.ts'
import { type Waiting, WaitingList } from './waiting-list.ts'

/** What a call says when it enters a Lane. */
export interface LaneCall extends Waiting {
  /** As now() counts. Infinity: no deadline. */
  readonly deadlineAtMs: number
  readonly signal: AbortSignal | undefined
}

interface Waiter extends Waiting {
  readonly deadlineAtMs: number
  /** Until then it lets itself be spread. After that it goes as soon as there is budget. */
  readonly patientUntilMs: number
  readonly end: (error?: unknown) => void
}

export const LONGEST_TIMER_MS = 2 ** 31 - 1

/** now is a clock that nobody sets. */
export const now = (): number => performance.now()

/** A Lane is where the calls of one caller to one server wait for their turn. */
export class Lane {
  readonly pacer = new Pacer()
  readonly #maxWaiting: number
  readonly #waiting = new WaitingList<Waiter>()
  #timer: ReturnType<typeof setTimeout> | undefined
  /** No deadline of those who wait is before it. */
  #earliestMs = Number.POSITIVE_INFINITY

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.pacer.isIdle
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** enter resolves when the call may go, and rejects as soon as it is known that it cannot before its deadline. */
  enter(call: LaneCall): Promise<void> {
    const nowMs = now()
    if (this.#waiting.size === 0 && this.pacer.waitMs(nowMs, call.cost) === 0) {
      this.pacer.sent(nowMs, call.cost)
      return Promise.resolve()
    }
    const leastMs = this.pacer.leastMs(nowMs, this.#waiting.costWith(call))
    if (nowMs + leastMs > call.deadlineAtMs) return Promise.reject(tooLate(leastMs))
    if (this.#waiting.size >= this.#maxWaiting) {
      return Promise.reject(new RateLimitError('queue_full', `${this.#maxWaiting} calls wait already`, leastMs))
    }
    return this.#wait(call, nowMs)
  }

  /** look lets go what may go now. It is to be called when an answer came. */
  look(): void {
    clearTimeout(this.#timer)
    const nowMs = now()
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      const waitMs = this.#waitMs(nowMs, next)
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.look(), Math.min(Math.ceil(waitMs), LONGEST_TIMER_MS))
        if (nowMs + waitMs > this.#earliestMs) this.#failLate(nowMs)
        return
      }
      this.#waiting.took(next)
      this.pacer.sent(nowMs, next.cost)
      next.end()
    }
  }

  #wait({ cost, priority, order, deadlineAtMs, signal }: LaneCall, nowMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const leftMs = deadlineAtMs - nowMs
      const late =
        leftMs > LONGEST_TIMER_MS ? undefined : setTimeout(() => waiter.end(tooLate(undefined)), Math.max(0, leftMs))
      const abort = (): void => waiter.end(signal?.reason)
      const waiter: Waiter = {
        cost,
        priority,
        order,
        deadlineAtMs,
        patientUntilMs: nowMs + leftMs / 2,
        end: (error) => {
          clearTimeout(late)
          signal?.removeEventListener('abort', abort)
          if (error === undefined) return resolve()
          this.#waiting.remove(waiter)
          reject(error)
          this.look()
        },
      }
      signal?.addEventListener('abort', abort)
      this.#earliestMs = Math.min(this.#earliestMs, deadlineAtMs)
      this.#waiting.add(waiter)
      this.look()
    })
  }

  #waitMs(nowMs: number, { cost, patientUntilMs }: Waiter): number {
    const spreadMs = this.pacer.waitMs(nowMs, cost)
    if (nowMs + spreadMs <= patientUntilMs) return spreadMs
    return Math.max(this.pacer.waitMs(nowMs, cost, false), Math.min(spreadMs, patientUntilMs - nowMs))
  }

  /** #failLate gives up at once on those who would have to wait beyond their deadline. */
  #failLate(nowMs: number): void {
    const late: [Waiter, number][] = []
    this.#earliestMs = Number.POSITIVE_INFINITY
    for (const waiter of this.#waiting) {
      const leastMs = this.pacer.leastMs(nowMs, waiter.cost)
      if (nowMs + leastMs > waiter.deadlineAtMs) late.push([waiter, leastMs])
      else this.#earliestMs = Math.min(this.#earliestMs, waiter.deadlineAtMs)
    }
    for (const [waiter] of late) this.#waiting.remove(waiter)
    for (const [waiter, leastMs] of late) waiter.end(tooLate(leastMs))
  }
}

function tooLate(retryAfterMs: number | undefined): RateLimitError {
  return new RateLimitError('deadline', 'the call would have to wait beyond its deadline', retryAfterMs)
}
