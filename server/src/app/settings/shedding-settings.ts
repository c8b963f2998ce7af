import type { FleetShedding, WorkerShedding } from 'sluice/internal/engine/load-shedder'
import type { SettingSources } from './setting-sources.ts'

/** Says when requests are shed. */
export interface SheddingConfig {
  readonly worker: WorkerShedding
  /** Undefined: the capacity of the fleet is unknown. */
  readonly fleet: FleetShedding | undefined
}

/** Returns when requests are shed. Times and counts must not be 0, a bound that would always be reached. */
export function sheddingOf(from: SettingSources): SheddingConfig {
  const capacity = from.value('shed-capacity')
  const latencyMs = from.value('shed-latency')
  const fleet = { mode: from.value('shed-fleet'), reserved: from.value('shed-reserved') }
  return {
    worker: {
      mode: from.value('shed-worker'),
      delayMs: Math.max(1, from.value('shed-delay')),
      inFlight: from.value('shed-in-flight'),
      latencyMs: latencyMs === 0 ? undefined : latencyMs,
      afterMs: from.value('shed-after'),
      overMs: Math.max(1, from.value('shed-over')),
    },
    fleet: capacity === undefined ? undefined : { ...fleet, capacity },
  }
}
