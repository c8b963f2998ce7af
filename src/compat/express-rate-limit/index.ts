import { CounterStore, type CounterStoreOptions } from '../../stores/hits/counter-store.ts'
import { MemoryStore } from '../../stores/hits/memory-store.ts'
import { hitLimit } from './hit-limit.ts'
import { ipKeyGenerator } from './ip-key-generator.ts'
import type { HitOptions, RateLimitRequestHandler } from './options.ts'

export { SluiceError } from '../../core/errors.ts'
export type {
  AugmentedRequest,
  ClientRateLimitInfo,
  DraftHeadersVersion,
  HitOptions,
  IncrementCallback,
  IncrementResponse,
  LegacyStore,
  Options,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitRequestHandler,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts'
export type { EnabledValidations, Logger } from './validations.ts'
export { ipKeyGenerator, MemoryStore }

/** A store for express-rate-limit itself, in memory or in Redis. */
export class SluiceStore extends CounterStore {}
export type { CounterStoreOptions as SluiceStoreOptions }

/** A second in ms, for `windowMs`. */
export const SECOND = 1_000
/** A minute in ms. */
export const MINUTE = 60 * SECOND
/** An hour in ms. */
export const HOUR = 60 * MINUTE
/** A day of 24 hours in ms. */
export const DAY = 24 * HOUR

/**
 * Makes a middleware for Express of the options of express-rate-limit. Changing over is one changed import.
 *
 *   app.use(rateLimit({ limit: 100, windowMs: 60_000 }))
 */
export function rateLimit(options: HitOptions = {}): RateLimitRequestHandler {
  return hitLimit(options)
}

export default rateLimit
