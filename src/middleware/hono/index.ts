import type { Context, Env, Input } from 'hono'
import { SluiceError } from '../../core/errors.ts'
import { CounterStore, type CounterStoreOptions } from '../../stores/hits/counter-store.ts'
import { MemoryStore } from '../../stores/hits/memory-store.ts'
import { bindingLimit } from './binding-limit.ts'
import { gateLimit } from './gate-limit.ts'
import { hitLimit } from './hit-limit.ts'
import { BINDING_FORMS, HIT_FORMS, KIND } from './option-forms.ts'
import type { ConfigProps, GateMiddleware, HitMiddleware, PlainFields, PlainOptions } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type {
  ClientRateLimitInfo,
  CloudflareConfigProps,
  CloudflareConfigType,
  ConfigProps,
  ConfigType,
  GateMiddleware,
  HitMiddleware,
  HonoConfigProps,
  HonoConfigType,
  PlainOptions,
  Promisify,
  RateLimitExceededEventHandler,
  RateLimitInfo,
  RateLimitVariable,
  Refused,
  Store,
  WSConfigProps,
  WSConfigType,
  WSRateLimitExceededEventHandler,
  WSStatusCode,
} from './options.ts'
export { type RedisClient, RedisStore, type RedisStoreOptions } from './redis-store.ts'
export { type UnstorageInstance, UnstorageStore, type UnstorageStoreOptions } from './unstorage-store.ts'
export { webSocketLimiter } from './web-socket-limiter.ts'
export { MemoryStore, SluiceError }

/** SluiceStore is a store for hono-rate-limiter itself, in memory or in Redis. */
export class SluiceStore extends CounterStore {}
export type { CounterStoreOptions as SluiceStoreOptions }

/**
 * rateLimit makes a middleware for Hono, of the plain options (docs/middleware/hono.md) or of hono-rate-limiter's.
 *
 *   app.use(rateLimit({ limit: 100, window: '1m' }))
 *   app.use(rateLimit({ limit: 100, windowMs: 60_000 }))
 */
export function rateLimit<E extends Env = Env, P extends string = string, I extends Input = Input>(
  options: PlainOptions<E, P, I>,
): GateMiddleware<E, P, I>
export function rateLimit<E extends Env = Env, P extends string = string, I extends Input = Input>(
  options?: ConfigProps<E, P, I>,
): HitMiddleware<E, P, I>
export function rateLimit(options: object = {}): GateMiddleware | HitMiddleware {
  const config = options as ConfigProps
  if (KIND.isPlain(options)) return gateLimit(options as PlainFields<Context>)
  KIND.checkOther(options, config.binding === undefined ? HIT_FORMS : BINDING_FORMS)
  return config.binding === undefined ? hitLimit(config) : bindingLimit(config)
}

export { rateLimit as rateLimiter }
