import type { BreakerState } from 'sluice/internal/engine/circuit-breaker'

/** How many rules are reported per second. */
export const MAX_LIVE_RULES = 100

export interface LiveRuleCounts {
  readonly domain: string
  readonly id: string
  readonly allowed: number
  readonly refused: number
  readonly shadowRefused: number
}

/** How a process is at the moment. */
export interface ProcessState {
  readonly pid: number
  /** Resident. */
  readonly memoryBytes: number
  /** How late the event loop was since the last report, at the 99th percentile. */
  readonly eventLoopDelayMs: number
  /** The worst of the shared store's servers. Undefined: counters are in memory. */
  readonly circuit: BreakerState | undefined
}

/** What a process decided since it was last asked: plain data. */
export interface LiveReport {
  readonly allowed: number
  readonly refused: number
  /** Requests that a rule in shadow mode would have refused. */
  readonly shadowRefused: number
  /** By bucket, see latencyBucket. */
  readonly latencies: readonly number[]
  /** The busiest first. */
  readonly rules: readonly LiveRuleCounts[]
  /** Default: unknown. */
  readonly process?: ProcessState
}
