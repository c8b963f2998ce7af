import type { FaultReason, StoreFault } from 'sluice/internal/engine/store-fault'

type Mode = 'open' | 'closed' | 'local'

/** Counts what becomes of calls to the shared store, and of decisions that were made without it. */
export class StoreStats {
  readonly #counts = new Map<string, number>()

  /** Counts a rule that decided without the store, by what it did and why. */
  fellBack(mode: Mode, reason: FaultReason): void {
    this.#add(`sluice.fallback.${mode}`, 1)
    this.#add(`sluice.fallback.reason.${reason}`, 1)
  }

  /** Counts a call, the decisions it carried, how long it took, and how it failed if it did. */
  callEnded(durationMs: number, decisions: number, fault: StoreFault | undefined): void {
    this.#add('sluice.redis.calls', 1)
    this.#add('sluice.redis.decisions', decisions)
    this.#add('sluice.redis.call_us', Math.round(durationMs * 1_000))
    if (fault !== undefined) this.#add(`sluice.redis.faults.${fault.reason}`, 1)
  }

  list(): Iterable<readonly [name: string, value: number]> {
    return this.#counts
  }

  #add(name: string, count: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
  }
}
