import type { IntervalHistogram } from 'node:perf_hooks'
import type { BreakerState } from 'sluice/internal/engine/circuit-breaker'
import type { ProcessState } from './live-report.ts'

/** How often the event loop is looked at. */
const RESOLUTION_MS = 20

/** Reports the state of this process, and how its calls to the shared store fare. */
export class ProcessWatch {
  readonly #delay: IntervalHistogram
  readonly #states = new Map<string, BreakerState>()
  readonly #away = new Set<string>()
  readonly #isShared: boolean

  /** `isShared`: counters are in a shared store. */
  constructor(isShared: boolean) {
    this.#isShared = isShared
    const { monitorEventLoopDelay } = process.getBuiltinModule('node:perf_hooks')
    this.#delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    this.#delay.enable()
  }

  connected(shard: string): void {
    this.#away.delete(shard)
  }

  disconnected(shard: string): void {
    this.#away.add(shard)
  }

  /** Records that a server is no longer part of the store. */
  retired(shard: string): void {
    this.#away.delete(shard)
    this.#states.delete(shard)
  }

  breakerChanged(shard: string, state: BreakerState): void {
    this.#states.set(shard, state)
  }

  /** Returns how the process is. The delay is that since the last time. */
  take(): ProcessState {
    const { pid } = process
    const delayMs = this.#delay.count === 0 ? 0 : Math.max(0, this.#delay.percentile(99) / 1e6 - RESOLUTION_MS)
    this.#delay.reset()
    const eventLoopDelayMs = Math.round(delayMs * 10) / 10
    return { pid, memoryBytes: process.memoryUsage.rss(), eventLoopDelayMs, circuit: this.#circuit() }
  }

  stop(): void {
    this.#delay.disable()
  }

  /** Where there is no connection nothing is sent: that is as good as open, as in metrics. */
  #circuit(): BreakerState | undefined {
    if (!this.#isShared) return undefined
    return this.#away.size > 0 ? 'open' : worstOf(this.#states.values())
  }
}

/** Returns the state that a reader has to know of. */
export function worstOf(states: Iterable<BreakerState>): BreakerState {
  let worst: BreakerState = 'closed'
  for (const state of states) if (ORDER.indexOf(state) > ORDER.indexOf(worst)) worst = state
  return worst
}

const ORDER: readonly BreakerState[] = ['closed', 'half_open', 'open']
