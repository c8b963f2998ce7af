import { allowedVerdict, refusedVerdict, type Verdict } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import type { Acquired, Charge, HeldPermits, MaybePromise, Renewal, Store } from './ports.ts'

/**
 * Answers looks (charges of 0) by what has been counted, as envoyproxy/ratelimit does: over the limit is what was
 * charged beyond it, and not what has merely nothing left. It is for fixed windows that count refused hits; all else
 * passes as it is.
 */
export class CountedLooks implements Store {
  readonly #store: Store
  readonly #wider = new WeakMap<Limit, Limit>()

  constructor(store: Store) {
    this.#store = store
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    if (!charges.some(isCountedLook)) return this.#store.decide(charges)
    const verdicts = this.#store.decide(charges.map((charge) => this.#widened(charge)))
    if (!(verdicts instanceof Promise)) return narrowed(charges, verdicts)
    return verdicts.then((all) => narrowed(charges, all))
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    return this.#store.acquire(charges)
  }

  release(permits: HeldPermits): MaybePromise<void> {
    return this.#store.release(permits)
  }

  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return this.#store.renew(permits)
  }

  reset(key: string, limit: Limit): MaybePromise<void> {
    return this.#store.reset(key, limit)
  }

  close(): MaybePromise<void> {
    return this.#store.close()
  }

  /** Looks through a limit of one more: its remaining budget shows whether the limit was exceeded. */
  #widened(charge: Charge): Charge {
    if (!isCountedLook(charge)) return charge
    const { limit } = charge
    const wider =
      this.#wider.get(limit) ?? Object.freeze({ ...limit, max: limit.max + 1, capacity: limit.capacity + 1 })
    this.#wider.set(limit, wider)
    return { ...charge, limit: wider }
  }
}

function isCountedLook({ cost, limit }: Charge): boolean {
  return cost === 0 && limit.algorithm === 'fixed_window' && limit.countDenied
}

function narrowed(charges: readonly Charge[], verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.map((verdict, i) => (isCountedLook(charges[i]) ? narrow(verdict, charges[i].limit.max) : verdict))
}

function narrow({ remaining, resetAfterMs, fallback }: Verdict, max: number): Verdict {
  const shown =
    remaining > 0
      ? allowedVerdict(max, remaining - 1, resetAfterMs)
      : refusedVerdict(max, 0, resetAfterMs, resetAfterMs)
  return fallback === undefined ? shown : { ...shown, fallback }
}
