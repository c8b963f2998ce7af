import type { Verdict } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import type { Acquired, Charge, HeldPermits, MaybePromise, Renewal, Store } from '../../engine/ports.ts'

/** A store that is still being loaded: calls wait for it, and go straight to it from then on. */
export class LazyStore implements Store {
  #store: Store | undefined
  readonly #loading: Promise<Store>

  constructor(loading: Promise<Store>) {
    this.#loading = loading
    loading.then(
      (store) => {
        this.#store = store
      },
      // Every call that waits for it receives the error.
      () => {},
    )
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    return this.#store === undefined
      ? this.#loading.then((store) => store.decide(charges))
      : this.#store.decide(charges)
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    return this.#store === undefined
      ? this.#loading.then((store) => store.acquire(charges))
      : this.#store.acquire(charges)
  }

  release(permits: HeldPermits): MaybePromise<void> {
    return this.#store === undefined
      ? this.#loading.then((store) => store.release(permits))
      : this.#store.release(permits)
  }

  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return this.#store === undefined ? this.#loading.then((store) => store.renew(permits)) : this.#store.renew(permits)
  }

  reset(key: string, limit: Limit): MaybePromise<void> {
    return this.#store === undefined
      ? this.#loading.then((store) => store.reset(key, limit))
      : this.#store.reset(key, limit)
  }

  async close(): Promise<void> {
    const store = await this.#loading.catch(() => undefined)
    await store?.close()
  }
}
