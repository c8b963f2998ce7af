/** Where the server gets its time from. Times are milliseconds that never go back, from any start. */
export interface Clock {
  nowMs(): number
  /** Runs something once, no earlier than in `delayMs`. It returns a function that calls it off. */
  after(delayMs: number, run: () => void): () => void
}

/** Runs on the monotonic clock; its timers do not keep a process alive. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
