/** The number of questions in a row without an answer after which none is expected. */
const BEATS = 10

/**
 * Asks repeatedly for a sign of life, and calls back once when there is none. It counts questions, not time: when the
 * whole machine stood still, or this process alone, the other side is not at fault.
 */
export class Heartbeat {
  readonly #timer: NodeJS.Timeout
  #unanswered = 0

  constructor(maxWaitMs: number, { ask, silent }: { readonly ask: () => void; readonly silent: () => void }) {
    this.#timer = setInterval(() => {
      if (this.#unanswered === BEATS) {
        this.stop()
        silent()
        return
      }
      this.#unanswered++
      ask()
    }, maxWaitMs / BEATS)
  }

  /** Called for every answer. */
  answered(): void {
    this.#unanswered = 0
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
