import type { BreakerState } from 'sluice/internal/engine/circuit-breaker'
import type { FaultReason, StoreFault } from 'sluice/internal/engine/store-fault'
import { Histograms } from './histograms.ts'
import { labelsOf } from './labels.ts'
import type { ReportBuilder } from './metrics-report.ts'

const MODES = ['open', 'closed', 'local'] as const
const REASONS: readonly FaultReason[] = ['timeout', 'offline', 'breaker_open', 'overloaded', 'unavailable', 'broken']
const STATES: Readonly<Record<BreakerState, number>> = { closed: 0, half_open: 1, open: 2 }
/** Clusters have a shard for each master. Beyond that many, shards are counted together. */
const MAX_SHARDS = 256
const OTHER = 'other'

interface Shard {
  readonly row: number
  readonly errors: Float64Array
  state: number
  /** How long decisions wait for it, as far as that is learned; 0: it is not. */
  deadlineMs: number
  /** There is no connection to it: nothing is sent, and so its breaker has nothing to go by. */
  isAway: boolean
}

/** Counts calls to the shared store, shard by shard, and verdicts that were made without it. */
export class StoreMetrics {
  readonly #shards = new Map<string, Shard>()
  readonly #durations = new Histograms('ratelimit_redis_duration_seconds')
  readonly #batches = new Histograms('ratelimit_redis_batch_decisions')
  readonly #fallbacks = new Float64Array(MODES.length * REASONS.length)

  /** Records that a shard is connected, so that it has series before the first call to it. */
  connected(shard: string): void {
    this.#shard(shard).isAway = false
  }

  disconnected(shard: string): void {
    this.#shard(shard).isAway = true
  }

  callEnded(shard: string, durationMs: number, decisions: number, fault: StoreFault | undefined): void {
    const { row, errors } = this.#shard(shard)
    this.#durations.observe(row, durationMs / 1000)
    this.#batches.observe(0, decisions)
    if (fault !== undefined) errors[REASONS.indexOf(fault.reason)]++
  }

  breakerChanged(shard: string, state: BreakerState): void {
    this.#shard(shard).state = STATES[state]
  }

  deadlineChanged(shard: string, timeoutMs: number): void {
    this.#shard(shard).deadlineMs = timeoutMs
  }

  fellBack(mode: (typeof MODES)[number], reason: FaultReason): void {
    this.#fallbacks[MODES.indexOf(mode) * REASONS.length + REASONS.indexOf(reason)]++
  }

  report(into: ReportBuilder): void {
    for (const [shard, { row, errors, state, deadlineMs, isAway }] of this.#shards) {
      const labels = labelsOf({ shard })
      into.addRow('ratelimit_redis_duration_seconds', labels, this.#durations.table, row)
      into.add('ratelimit_circuit_state', labels, isAway ? STATES.open : state)
      if (deadlineMs > 0) into.add('ratelimit_redis_deadline_seconds', labels, deadlineMs / 1000)
      REASONS.forEach((reason, i) => {
        // These are found before anything is sent: see ratelimit_fallback_total.
        if (reason === 'breaker_open' || reason === 'overloaded') return
        into.add('ratelimit_redis_errors_total', labelsOf({ shard, reason }), errors[i])
      })
    }
    into.addRow('ratelimit_redis_batch_decisions', '', this.#batches.table)
    MODES.forEach((mode, i) => {
      REASONS.forEach((reason, j) => {
        into.add('ratelimit_fallback_total', labelsOf({ mode, reason }), this.#fallbacks[i * REASONS.length + j])
      })
    })
  }

  #shard(name: string): Shard {
    const known = this.#shards.get(name)
    if (known !== undefined) return known
    if (this.#shards.size >= MAX_SHARDS && name !== OTHER) return this.#shard(OTHER)
    const errors = new Float64Array(REASONS.length)
    const shard = { row: this.#shards.size, errors, state: STATES.closed, deadlineMs: 0, isAway: false }
    this.#durations.reserve(shard.row + 1)
    this.#shards.set(name, shard)
    return shard
  }
}
