/** Called when a deadline may have passed. */
export interface DeadlineListener {
  /** The timer rang much later than it should have: the process itself was busy. */
  stalled(nowAt: number): void
  /** Deadlines up to a time may have passed. What came in until then has been read; of later ones nothing is known. */
  due(upTo: number): void
}

/** A timer that is this late says that the process itself was busy. */
const BUSY_MS = 1
const SOON_MS = 30_000

/**
 * One timer for many deadlines: it fires at the earliest deadline set, even one that no longer matters. It notifies
 * after the sockets have been read again, because the answer may have arrived already.
 */
export class DeadlineTimer {
  readonly #now: () => number
  readonly #listener: DeadlineListener
  #timer: NodeJS.Timeout | undefined
  #ringAt = Number.POSITIVE_INFINITY
  #isResting = false
  readonly #ring = (): void => this.#rang()

  constructor(now: () => number, listener: DeadlineListener) {
    this.#now = now
    this.#listener = listener
  }

  /** Has the timer ring at a time at the latest. */
  watch(dueAt: number): void {
    if (this.#isResting) {
      this.#isResting = false
      this.#timer?.ref()
    }
    if (dueAt >= this.#ringAt) return
    clearTimeout(this.#timer)
    this.#ringAt = dueAt
    this.#timer = setTimeout(this.#ring, Math.max(0, Math.ceil(dueAt - this.#now())))
  }

  /**
   * Says that there is nothing to wait for now. A timer that rings within half a minute stays, for deadlines to come:
   * to make one for each lone call is a tenth of its garbage. But it does not keep the process alive.
   */
  rest(): void {
    if (this.#ringAt - this.#now() <= SOON_MS) {
      this.#isResting = true
      this.#timer?.unref?.()
    } else {
      clearTimeout(this.#timer)
      this.#ringAt = Number.POSITIVE_INFINITY
    }
  }

  #rang(): void {
    const nowAt = this.#now()
    const hasStalled = nowAt - this.#ringAt > BUSY_MS
    this.#ringAt = Number.POSITIVE_INFINITY
    if (hasStalled) this.#listener.stalled(nowAt)
    setImmediate(() => this.#listener.due(nowAt))
  }
}
