import { readdirSync, statSync } from 'node:fs'
import type { IntervalHistogram, PerformanceObserver } from 'node:perf_hooks'
import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'

/** How often the event loop is looked at. What is over between two looks is not seen. */
const RESOLUTION_MS = 20
const NS = 1e9

/** Reports the state of this process: its event loop, its garbage collector, and its use of the machine. */
export class ProcessMetrics {
  readonly #delay: IntervalHistogram | undefined
  readonly #observer: PerformanceObserver | undefined
  readonly #pauses = new Float64Array(2)

  /** Without an event loop of interest (`isIdle`: the primary's), only the figures of the process are reported. */
  constructor(isIdle = false) {
    if (isIdle) return
    const { monitorEventLoopDelay, PerformanceObserver } = process.getBuiltinModule('node:perf_hooks')
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    this.#delay.enable()
    this.#observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) this.#paused(duration)
    })
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  stop(): void {
    this.#delay?.disable()
    this.#observer?.disconnect()
  }

  /** Reports the delay since the last report, and everything else since the start. */
  report(into: ReportBuilder): void {
    if (this.#delay !== undefined) reportDelay(into, this.#delay)
    for (const { duration } of this.#observer?.takeRecords() ?? []) this.#paused(duration)
    if (this.#observer !== undefined) into.addRow('ratelimit_gc_duration_seconds', '', this.#pauses)
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    into.add('process_cpu_seconds_total', '', (user + system) / 1e6)
    into.add('process_resident_memory_bytes', '', rss)
    const fds = openFds()
    if (fds !== undefined) into.add('process_open_fds', '', fds)
    into.add('process_start_time_seconds', '', performance.timeOrigin / 1000)
    into.add('nodejs_heap_used_bytes', '', heapUsed)
  }

  #paused(durationMs: number): void {
    this.#pauses[0] += durationMs / 1000
    this.#pauses[1]++
  }
}

/** Reports how late looks at the event loop were, which the histogram has including the time between two looks. */
function reportDelay(into: ReportBuilder, delay: IntervalHistogram): void {
  const seconds = (ns: number): number => (delay.count === 0 ? 0 : Math.max(0, ns / NS - RESOLUTION_MS / 1000))
  const name = 'ratelimit_eventloop_delay_seconds'
  into.add(name, labelsOf({ quantile: '0.5' }), seconds(delay.percentile(50)))
  into.add(name, labelsOf({ quantile: '0.99' }), seconds(delay.percentile(99)))
  into.add(name, labelsOf({ quantile: 'max' }), seconds(delay.max))
  delay.reset()
}

const FDS = '/proc/self/fd'

/** Counts open files: from Linux 6.2 on the folder's size is their number, before that they are listed. */
function openFds(): number | undefined {
  try {
    return statSync(FDS).size || readdirSync(FDS).length
  } catch {
    return undefined
  }
}
