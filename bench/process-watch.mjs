import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'

const RESOLUTION_MS = 5

/**
 * Records what a process did: pauses of the garbage collector, how late its event loop was, which share of the time it
 * had nothing to do, and its processor time. The delay is sampled by a timer every 5 ms: what falls between two samples
 * is not seen.
 */
export class ProcessWatch {
  #pauses = []
  #observer = new PerformanceObserver((list) => this.#pauses.push(...list.getEntries()))
  #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  #utilization = performance.eventLoopUtilization()
  #usage = process.cpuUsage()
  #takenAt = performance.now()

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] })
    this.#delay.enable()
  }

  /** Returns what happened since the last time. */
  take() {
    const pauses = [...this.#pauses, ...this.#observer.takeRecords()].map(({ duration }) => duration)
    const { user, system } = process.cpuUsage(this.#usage)
    const delayMs = (ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS)
    const taken = {
      sinceMs: performance.now() - this.#takenAt,
      cpuUs: user + system,
      gcCount: pauses.length,
      gcMs: pauses.reduce((sum, each) => sum + each, 0),
      gcLongestMs: Math.max(0, ...pauses),
      delayP99Ms: this.#delay.count === 0 ? 0 : delayMs(this.#delay.percentile(99)),
      delayLongestMs: this.#delay.count === 0 ? 0 : delayMs(this.#delay.max),
      idle: 1 - performance.eventLoopUtilization(this.#utilization).utilization,
    }
    this.#pauses = []
    this.#delay.reset()
    this.#utilization = performance.eventLoopUtilization()
    this.#usage = process.cpuUsage()
    this.#takenAt = performance.now()
    return taken
  }
}
