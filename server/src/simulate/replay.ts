import type { Clock } from 'sluice/internal/core/clock'
import type { Decision } from 'sluice/internal/core/combine'
import type { KeyedHash } from 'sluice/internal/core/hash'
import type { CheckRequest } from 'sluice/internal/core/request'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import type { PlannedCharge } from 'sluice/internal/engine/charge'
import { Limiter, type LimiterParts } from 'sluice/internal/engine/limiter'
import { type MemoryStats, MemoryStore } from 'sluice/internal/stores/memory/memory-store'

/** The time of a replay: that of the request that is decided. */
export class ReplayClock implements Clock {
  #nowMs = 0

  nowMs(): number {
    return this.#nowMs
  }

  /** Moves on. Requests come in the order of their times. */
  moveTo(timeMs: number): void {
    this.#nowMs = timeMs
  }
}

export interface ReplayOptions {
  readonly clock: Clock
  /** Makes a hash that encodes secrets in keys or places counters: two replays of the same traffic are the same. */
  readonly newHash: () => KeyedHash
  readonly maxKeys: number
  readonly parts?: LimiterParts | undefined
}

/** Decides about requests as a service with these rules would have, at their times, from counters in memory. */
export class Replay {
  readonly rules: RuleSet
  readonly #limiter: Limiter<MemoryStore>
  readonly #store: MemoryStore
  /** What the last request was charged to. */
  charges: readonly PlannedCharge[] = []

  constructor(rules: RuleSet, { clock, newHash, maxKeys, parts }: ReplayOptions) {
    this.rules = rules
    this.#store = new MemoryStore({ clock, maxKeys, hash: newHash() })
    this.#limiter = new Limiter(() => rules, this.#store, { ...parts, hash: newHash() })
  }

  decide(request: CheckRequest): Decision {
    this.charges = this.#limiter.plan(request)
    return this.#limiter.decide(this.charges)
  }

  get store(): MemoryStats {
    return this.#store.stats
  }
}
