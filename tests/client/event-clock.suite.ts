import { onTestFinished, vi } from 'vitest'

interface Event {
  readonly atMs: number
  run: (() => void) | undefined
}

/** An EventClock is the time of a test: it jumps from one timer to the next, so that a minute takes what its events take. */
export class EventClock {
  #nowMs = 0
  /** By time, and in the order in which they were set. */
  readonly #events: Event[] = []

  /** It stands in for the timers and clocks of this process until the test is over. */
  constructor() {
    const startedMs = Date.UTC(2026, 0, 1)
    vi.stubGlobal('setTimeout', (run: () => void, ms = 0) => this.#add(this.#nowMs + Math.max(1, ms), run))
    vi.stubGlobal('clearTimeout', (event: Event | undefined) => {
      if (event !== undefined) event.run = undefined
    })
    vi.spyOn(performance, 'now').mockImplementation(() => this.#nowMs)
    vi.spyOn(Date, 'now').mockImplementation(() => startedMs + this.#nowMs)
    onTestFinished(() => {
      vi.unstubAllGlobals()
      vi.restoreAllMocks()
    })
  }

  get nowMs(): number {
    return this.#nowMs
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#add(this.#nowMs + ms, resolve))
  }

  /** Runs until something has ended. */
  async until<T>(what: Promise<T>): Promise<T> {
    let isOver = false
    const over = (): void => {
      isOver = true
    }
    what.then(over, over)
    for (;;) {
      // All that follows from one event comes before the next.
      await new Promise((resolve) => setImmediate(resolve))
      if (isOver) return what
      const event = this.#events.shift()
      if (event === undefined) throw new Error('nothing is left to happen')
      if (event.run === undefined) continue
      this.#nowMs = event.atMs
      event.run()
    }
  }

  #add(atMs: number, run: () => void): Event {
    const event = { atMs, run }
    let low = 0
    let high = this.#events.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#events[middle].atMs <= atMs) low = middle + 1
      else high = middle
    }
    this.#events.splice(low, 0, event)
    return event
  }
}
