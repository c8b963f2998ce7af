import type { IntervalHistogram } from 'node:perf_hooks'

const RESOLUTION_MS = 10
const NS_PER_MS = 1e6

/** How often those who listen are told. */
export const SAMPLE_MS = 100

/** A LoopListener is told how late the event loop was, and how long ago it was told before. */
export type LoopListener = (delayMs: number, sinceMs: number) => void

/** A LoopSampler watches the event loop for those who listen. */
export interface LoopSampler {
  /** listen tells a listener until the function that it returns is called. */
  listen(listener: LoopListener): () => void
}

/**
 * ProcessLoopSampler watches the event loop of its process, with one timer for all who listen, and none while nobody does. It
 * does not keep the process alive.
 *
 * There are two histograms, read in turn: a histogram that is emptied loses the stall which is under way then, and the other
 * one has it. So each reading is about the last two times.
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
    this.#timer.unref()
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

  /** #read is the mean delay; undefined where a runtime measures none. An idle loop shows the resolution. */
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
    // Loaded when somebody listens: nobody else waits for it.
    const { monitorEventLoopDelay } = process.getBuiltinModule('node:perf_hooks')
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    histogram.enable()
    return histogram
  } catch {
    return undefined
  }
}

/** LOOP is the event loop of this process. */
export const LOOP: LoopSampler = new ProcessLoopSampler()
