import type { IntervalHistogram } from 'node:perf_hooks'

const RESOLUTION_MS = 10
const NS_PER_MS = 1e6

/** How often listeners are called. */
export const SAMPLE_MS = 100

/** Receives how late the event loop was, and the time since the previous call. */
export type LoopListener = (delayMs: number, sinceMs: number) => void

/** Watches the event loop for its listeners. */
export interface LoopSampler {
  /** Calls a listener until the returned function is called. */
  listen(listener: LoopListener): () => void
}

/**
 * Watches the event loop of its process, with one timer for all listeners, and none without listeners. Does not keep
 * the process alive.
 *
 * There are two histograms, read in turn: a histogram that is reset loses the stall in progress, but the other one has
 * it. So each reading covers the last two intervals.
 */
class ProcessLoopSampler implements LoopSampler {
  readonly #listeners = new Set<LoopListener>()
  #histograms: IntervalHistogram[] = []
  #timer: NodeJS.Timeout | undefined
  #turn = 0
  #lastMs = 0

  listen(listener: LoopListener): () => void {
    // The same function may listen twice.
    const own: LoopListener = (delayMs, sinceMs) => listener(delayMs, sinceMs)
    this.#listeners.add(own)
    if (this.#timer === undefined) this.#start()
    return () => {
      this.#listeners.delete(own)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  #start(): void {
    this.#histograms = [delayHistogram(), delayHistogram()].filter((histogram) => histogram !== undefined)
    this.#lastMs = performance.now()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
    this.#timer.unref?.()
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const histogram of this.#histograms) histogram.disable()
    this.#histograms = []
  }

  #sample(): void {
    const nowMs = performance.now()
    const sinceMs = nowMs - this.#lastMs
    this.#lastMs = nowMs
    const delayMs = this.#read() ?? Math.max(0, sinceMs - SAMPLE_MS)
    for (const listener of this.#listeners) listener(delayMs, sinceMs)
  }

  /** Returns the mean delay; undefined where a runtime measures none. An idle loop shows the resolution. */
  #read(): number | undefined {
    const histogram = this.#histograms[this.#turn++ % 2]
    if (histogram === undefined) return undefined
    const { mean } = histogram
    histogram.reset()
    return Number.isFinite(mean) ? Math.max(0, mean / NS_PER_MS - RESOLUTION_MS) : 0
  }
}

/** Some runtimes have the function, and throw. */
function delayHistogram(): IntervalHistogram | undefined {
  try {
    // Loaded with the first listener, so that other processes do not pay for it.
    const { monitorEventLoopDelay } = process.getBuiltinModule('node:perf_hooks')
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    histogram.enable()
    return histogram
  } catch {
    return undefined
  }
}

/** Returns the event loop of this process. */
export const LOOP: LoopSampler = new ProcessLoopSampler()
