import type { MaybePromise } from '../../engine/ports.ts'

/** How often a key was hit in its window, and when that ends. */
export interface Hits {
  totalHits: number
  resetTime: Date | undefined
}

/** Counts hits, in the shape that express-rate-limit gave to such stores and others took over. */
export interface HitStore<O = { readonly windowMs: number }> {
  init?(options: O): MaybePromise<void>
  get?(key: string): MaybePromise<Hits | undefined>
  increment(key: string): MaybePromise<Hits>
  decrement(key: string): MaybePromise<void>
  resetKey(key: string): MaybePromise<void>
  resetAll?(): MaybePromise<void>
  shutdown?(): MaybePromise<void>
  /** Keys of one instance cannot be seen by another. */
  localKeys?: boolean
  prefix?: string
}
