import { setTimeout as pause } from 'node:timers/promises'

const LEAST_MS = 100
/** At most a fifth of the time is spent on what one peer sends. */
const SHARE = 4

type Rest = (ms: number, signal: AbortSignal) => Promise<unknown>

const pauseFor: Rest = (ms, signal) => pause(ms, undefined, { signal })

/** Bounds the work that a peer can cause by sending as fast as possible: work is followed by rest. */
export class WorkPace {
  #restUntilMs = 0

  /** work rests, if there is something to rest from, and does some work. It rejects when the signal aborts the rest. */
  async work(task: () => Promise<void>, signal: AbortSignal, rest: Rest = pauseFor): Promise<void> {
    const restMs = this.#restUntilMs - performance.now()
    if (restMs > 0) await rest(restMs, signal)
    const startMs = performance.now()
    try {
      await task()
    } finally {
      const endMs = performance.now()
      this.#restUntilMs = endMs + Math.max(LEAST_MS, SHARE * (endMs - startMs))
    }
  }
}
