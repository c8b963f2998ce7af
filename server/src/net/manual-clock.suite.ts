import type { Clock } from './clock.ts'

/** Stands still until it is told to go on. */
export class ManualClock implements Clock {
  #nowMs = 1_000_000
  readonly #timers = new Set<{ readonly atMs: number; readonly run: () => void }>()

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get timers(): number {
    return this.#timers.size
  }

  /** Runs every timer on the way, in their order, each at its time. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms
    for (;;) {
      const next = [...this.#timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0]
      if (next === undefined) break
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.run()
    }
    this.#nowMs = untilMs
  }
}
