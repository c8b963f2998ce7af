import type { SyncStore } from 'sluice/internal/engine/ports'
import type { SharedPlan } from './planned-route.ts'

/** How a process is full: for everybody, or for one address. */
export interface CeilingHit {
  readonly isForAll: boolean
  readonly retryAfterMs: number
}

/** Ceiling is what one process takes at all. It counts in memory, and is asked before anything else. */
export class Ceiling {
  readonly #store: SyncStore

  /** The store is of this process, and its own: it holds a bounded number of addresses. */
  constructor(store: SyncStore) {
    this.#store = store
  }

  /** hit counts a request, and returns why it is too many; undefined where it is not. */
  hit(ip: string, { all, perIp }: SharedPlan['ceiling']): CeilingHit | undefined {
    if (perIp !== undefined) {
      const verdict = this.#store.decideOne(`ip ${ip}`, perIp, 1)
      if (!verdict.allowed)
        return { isForAll: false, retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : 1_000 }
    }
    if (all === undefined) return undefined
    const verdict = this.#store.decideOne('all', all, 1)
    if (verdict.allowed) return undefined
    return { isForAll: true, retryAfterMs: verdict.kind === 'refused' ? verdict.retryAfterMs : 1_000 }
  }
}
