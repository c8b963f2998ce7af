import type { ClientRateLimitInfo, Store } from './options.ts'

/** A storage of `unstorage`, or any other with these three. */
export interface UnstorageInstance {
  get: (key: string) => Promise<unknown>
  set: (key: string, value: string) => Promise<void>
  remove: (key: string) => Promise<void>
}

/** The options of hono-rate-limiter's UnstorageStore. */
export interface UnstorageStoreOptions {
  storage: UnstorageInstance
  /** What keys begin with. Default: `hrl:`. */
  readonly prefix?: string
}

interface Entry {
  readonly totalHits: number
  readonly resetMs: number
}

/**
 * Counts hits in a storage of `unstorage`. Such a storage reads and writes but does not count: here a key's hits in one
 * process wait for each other, so none is lost; with two processes some may be.
 */
export class UnstorageStore implements Store {
  readonly prefix: string
  readonly #storage: UnstorageInstance
  /** Writes in flight, by key. */
  readonly #queues = new Map<string, Promise<unknown>>()
  #windowMs = 60_000

  constructor({ storage, prefix = 'hrl:' }: UnstorageStoreOptions) {
    this.prefix = prefix
    this.#storage = storage
  }

  init({ windowMs }: { readonly windowMs: number }): void {
    this.#windowMs = windowMs
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const entry = await this.#read(key)
    return entry && { totalHits: entry.totalHits, resetTime: new Date(entry.resetMs) }
  }

  increment(key: string): Promise<ClientRateLimitInfo> {
    return this.#inTurn(key, async () => {
      const entry = (await this.#read(key)) ?? { totalHits: 0, resetMs: Date.now() + this.#windowMs }
      return await this.#write(key, { ...entry, totalHits: entry.totalHits + 1 })
    })
  }

  async decrement(key: string): Promise<void> {
    await this.#inTurn(key, async () => {
      const entry = await this.#read(key)
      if (entry !== undefined) await this.#write(key, { ...entry, totalHits: Math.max(0, entry.totalHits - 1) })
    })
  }

  resetKey(key: string): Promise<void> {
    return this.#inTurn(key, () => this.#storage.remove(this.prefix + key))
  }

  /** Does one thing with a key after the other, whatever became of the one before. */
  #inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(key) ?? Promise.resolve()
    const done = before.then(work, work)
    this.#queues.set(key, done)
    const forget = (): void => {
      if (this.#queues.get(key) === done) this.#queues.delete(key)
    }
    done.then(forget, forget)
    return done
  }

  /** Returns the hits of a window that has not ended. */
  async #read(key: string): Promise<Entry | undefined> {
    const found = await this.#storage.get(this.prefix + key)
    const { totalHits, resetTime } = (typeof found === 'string' ? JSON.parse(found) : (found ?? {})) as {
      readonly totalHits?: number
      readonly resetTime?: string | number
    }
    const resetMs = new Date(resetTime ?? 0).getTime()
    return totalHits !== undefined && resetMs > Date.now() ? { totalHits, resetMs } : undefined
  }

  async #write(key: string, { totalHits, resetMs }: Entry): Promise<ClientRateLimitInfo> {
    const info = { totalHits, resetTime: new Date(resetMs) }
    await this.#storage.set(this.prefix + key, JSON.stringify(info))
    return info
  }
}
