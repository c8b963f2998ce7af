import type { Verdict } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import type { Acquired, Charge, HeldPermits, MaybePromise, Renewal, Store } from '../../engine/ports.ts'

/** A store that is still being opened: calls wait for it, and go straight to it from then on. */
export class LazyStore implements Store {
  #store: Store | undefined
  #opening: Promise<Store> | undefined
  readonly #loading: Promise<Store>
  readonly #connected: () => Promise<void>

  /** `connected` is called by the first call: it resolves when calls need not wait any longer. */
  constructor(loading: Promise<Store>, connected: () => Promise<void>) {
    this.#loading = loading
    this.#connected = connected
  }

  decide(charges: readonly Charge[]): MaybePromise<readonly Verdict[]> {
    return this.#store === undefined ? this.#open().then((store) => store.decide(charges)) : this.#store.decide(charges)
  }

  acquire(charges: readonly Charge[]): MaybePromise<Acquired> {
    return this.#store === undefined
      ? this.#open().then((store) => store.acquire(charges))
      : this.#store.acquire(charges)
  }

  release(permits: HeldPermits): MaybePromise<void> {
    return this.#store === undefined
      ? this.#open().then((store) => store.release(permits))
      : this.#store.release(permits)
  }

  renew(permits: readonly HeldPermits[]): MaybePromise<readonly Renewal[]> {
    return this.#store === undefined ? this.#open().then((store) => store.renew(permits)) : this.#store.renew(permits)
  }

  reset(key: string, limit: Limit): MaybePromise<void> {
    return this.#store === undefined
      ? this.#open().then((store) => store.reset(key, limit))
      : this.#store.reset(key, limit)
  }

  async close(): Promise<void> {
    const store = await this.#loading.catch(() => undefined)
    await store?.close()
  }

  /** Every call that waits for it receives the error of loading. */
  #open(): Promise<Store> {
    this.#opening ??= this.#loading.then(async (store) => {
      await this.#connected()
      this.#store = store
      return store
    })
    return this.#opening
  }
}
