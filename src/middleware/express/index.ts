import { SluiceError } from '../../core/errors.ts'
import { CounterStore, type CounterStoreOptions } from '../../stores/hits/counter-store.ts'
import { MemoryStore } from '../../stores/hits/memory-store.ts'
import { gateLimit } from './gate-limit.ts'
import { hitLimit } from './hit-limit.ts'
import { ipKeyGenerator } from './ip-key-generator.ts'
import { KIND } from './option-forms.ts'
import type { GateRequestHandler, HitOptions, PlainOptions, RateLimitRequestHandler } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type {
  AugmentedRequest,
  ClientRateLimitInfo,
  DraftHeadersVersion,
  GateRequestHandler,
  HitOptions,
  IncrementCallback,
  IncrementResponse,
  LegacyStore,
  Options,
  PlainOptions,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitRequestHandler,
  Refused,
  Store,
  ValueDeterminingMiddleware,
} from './options.ts'
export type { EnabledValidations, Logger } from './validations.ts'
export { ipKeyGenerator, MemoryStore, SluiceError }

/** SluiceStore is a store for express-rate-limit itself, in memory or in Redis. */
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
 * rateLimit makes a middleware for Express, of the plain options (docs/middleware.md) or of express-rate-limit's.
 *
 *   app.use(rateLimit({ limit: 100, window: '1m' }))
 *   app.use(rateLimit({ limit: 100, windowMs: 60_000 }))
 */
export function rateLimit(options: PlainOptions): GateRequestHandler
export function rateLimit(options?: HitOptions): RateLimitRequestHandler
export function rateLimit(options: PlainOptions | HitOptions = {}): GateRequestHandler | RateLimitRequestHandler {
  return KIND.isPlain(options) ? gateLimit(options as PlainOptions) : hitLimit(options as HitOptions)
}

export default rateLimit
