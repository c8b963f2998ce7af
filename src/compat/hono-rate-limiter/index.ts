import type { Env, Input } from 'hono'
import { CounterStore, type CounterStoreOptions } from '../../stores/hits/counter-store.ts'
import { bindingLimit } from './binding-limit.ts'
import { hitLimit } from './hit-limit.ts'
import { BINDING_FORMS, checkHitOptions, HIT_FORMS } from './option-forms.ts'
import type { ConfigProps, HitMiddleware } from './options.ts'

export { SluiceError } from '../../core/errors.ts'
export type { RateLimitInfo, RateLimitVariable } from '../../middleware/hono/options.ts'
export { MemoryStore } from '../../stores/hits/memory-store.ts'
export type {
  ClientRateLimitInfo,
  CloudflareConfigProps,
  CloudflareConfigType,
  ConfigProps,
  ConfigType,
  HitMiddleware,
  HonoConfigProps,
  HonoConfigType,
  Promisify,
  RateLimitExceededEventHandler,
  Store,
  WSConfigProps,
  WSConfigType,
  WSRateLimitExceededEventHandler,
  WSStatusCode,
} from './options.ts'
export { type RedisClient, RedisStore, type RedisStoreOptions } from './redis-store.ts'
export { type UnstorageInstance, UnstorageStore, type UnstorageStoreOptions } from './unstorage-store.ts'
export { webSocketLimiter } from './web-socket-limiter.ts'

/** A store for hono-rate-limiter itself, in memory or in Redis. */
export class SluiceStore extends CounterStore {}
export type { CounterStoreOptions as SluiceStoreOptions }

/**
 * Makes a middleware for Hono of the options of hono-rate-limiter. Changing over is one changed import.
 *
 *   app.use(rateLimiter({ limit: 100, windowMs: 60_000 }))
 */
export function rateLimiter<E extends Env = Env, P extends string = string, I extends Input = Input>(
  options?: ConfigProps<E, P, I>,
): HitMiddleware<E, P, I>
export function rateLimiter(options: object = {}): HitMiddleware {
  const config = options as ConfigProps
  checkHitOptions(options, config.binding === undefined ? HIT_FORMS : BINDING_FORMS)
  return config.binding === undefined ? hitLimit(config) : bindingLimit(config)
}
