/** A counter as an engine has it: its text, and a token that is another after each write. */
export interface Stored {
  readonly text: string
  readonly version: string
}

/** A write of one counter that takes place only if nothing has changed since it was read. */
export interface CasWrite {
  readonly name: string
  readonly text: string
  /** The token of what was read. Undefined: there was nothing, and there must be nothing now. */
  readonly base: string | undefined
  /** A token for engines that do not make one: no write before it had the same. */
  readonly version: string
  /** How long the counter has to be kept. */
  readonly ttlMs: number
  /** Writes of the same number belong together: engines that are `isAtomic` make all of them or none. */
  readonly group: number
}

/**
 * What became of a write: the token of what is stored now, or a conflict. An engine that knows what it found instead
 * says so, which saves a read: `found` is undefined where nothing is stored, and absent where it is not known.
 */
export type CasResult =
  | { readonly isWritten: true; readonly version: string }
  | { readonly isWritten: false; readonly found?: Stored | undefined }

/** What an engine's clock showed at some moment of the call, within so many milliseconds after `ms`. */
export interface TimeSample {
  readonly ms: number
  readonly withinMs: number
}

/**
 * Keeps counters where others can read them. All that a database, a cache or an object has to offer to carry every
 * algorithm: reading, writing what has not changed meanwhile, forgetting, and the time. Calls reject with a StoreFault.
 * One that rejects with `broken` or `timeout` may have been carried out; the store finds out by reading, and sends
 * nothing twice.
 */
export interface CasEngine {
  /** Names it in metrics, logs and faults, such as `postgres app-db:5432`. */
  readonly name: string
  /** True where writes of a group are one transaction. Elsewhere a partial write is taken back. */
  readonly isAtomic: boolean
  /** How many counters one call names at most. */
  readonly maxNames: number
  /** Returns what is stored under each name, in order. */
  read(names: readonly string[]): Promise<readonly (Stored | undefined)[]>
  /** Writes what has not changed since it was read; names occur once. Returns the results in order. */
  write(writes: readonly CasWrite[]): Promise<readonly CasResult[]>
  /** Removes a part of what has expired, and returns whether there may be more. Engines that do it alone return false. */
  expire(): Promise<boolean>
  time(): Promise<TimeSample>
  close(): Promise<void>
}
