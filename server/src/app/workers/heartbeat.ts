/** So many questions in a row that nobody answers mean that nobody will. */
const BEATS = 10

/**
 * Asks something again and again whether it is there, and tells once when it does not answer. It counts questions, not
 * time: when the whole machine stood still, or this process alone, nobody is at fault.
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

  /** answered is told of every answer. */
  answered(): void {
    this.#unanswered = 0
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
