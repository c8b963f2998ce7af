import type { Verdict } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'

/** A value now, or a promise of it where the answer needs a round trip. */
export type MaybePromise<T> = T | Promise<T>

/** A Charge asks one counter for `cost` under `limit`. */
export interface Charge {
  readonly key: string
  readonly limit: Limit
  /** Above 0 charges, 0 looks, below 0 refunds. */
  readonly cost: number
  /** False for a shadow rule: its refusal is reported but stops nothing. */
  readonly enforce: boolean
  /** True for a rule in quota mode: the group is refused only when all of those refuse. */
  readonly quota?: boolean
  /** What to do when the store does not answer. */
  readonly policy?: ChargePolicy
}

/** A ChargePolicy is what a rule says about a store that does not answer. */
export interface ChargePolicy {
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  /** local: the share of the budget that this node may admit by itself. */
  readonly localShare: number
  readonly timeoutMs: number
}

/** isRefused says whether a group is refused: an enforcing charge does not fit, or none of those in quota mode does. */
export function isRefused(charges: readonly Charge[], verdicts: readonly Verdict[]): boolean {
  let quotas = 0
  let quotasRefused = 0
  for (let i = 0; i < charges.length; i++) {
    const { enforce, quota } = charges[i]
    if (!enforce) continue
    if (quota === true) {
      quotas++
      if (!verdicts[i].allowed) quotasRefused++
    } else if (!verdicts[i].allowed) return true
  }
  return quotas > 0 && quotas === quotasRefused
}

/** A Lease is what `acquire` took and `release` gives back: an id of the store's own, and the counters it is held in. */
export interface Lease {
  readonly id: number | string
  readonly held: readonly Pick<Charge, 'key' | 'limit'>[]
  /** Taken in this process, while the shared store was away. */
  readonly isLocal?: boolean
}

export interface Acquired {
  readonly verdicts: readonly Verdict[]
  /** Undefined when the group was refused: nothing was taken. */
  readonly lease: Lease | undefined
}

/**
 * A Store keeps counters and decides about groups of charges, each atomically: when every enforcing charge fits, all
 * that fit are charged; when one does not, none is. Time is the store's own.
 */
export interface Store {
  /** decide answers every charge, in order. Charges on `concurrency` limits only look: places are taken by acquire. */
  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]>
  /** acquire is decide, and takes the places of `concurrency` limits as well. */
  acquire(charges: readonly Charge[]): MaybePromise<Acquired>
  /** release gives the places of a lease back. A lease that has run out or was released before is no error. */
  release(lease: Lease): MaybePromise<void>
  /** reset forgets a counter: the key has its whole budget again. */
  reset(key: string, limit: Limit): MaybePromise<void>
  close(): MaybePromise<void>
}

/** A SyncStore answers at once: nothing on its path allocates a promise. */
export interface SyncStore extends Store {
  decide(charges: readonly Charge[]): readonly Verdict[]
  /** decideOne is decide for a single charge, without the lists. */
  decideOne(key: string, limit: Limit, cost: number): Verdict
  acquire(charges: readonly Charge[]): Acquired
  release(lease: Lease): void
  reset(key: string, limit: Limit): void
  close(): void
}
