import { SluiceError } from '../../core/errors.ts'
import { gateLimit } from './gate-limit.ts'
import { hitLimit } from './hit-limit.ts'
import { KIND } from './option-forms.ts'
import type { GateMiddleware, HitMiddleware, MiddlewareOptions, PlainFields, PlainOptions } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type { GateMiddleware, HitMiddleware, MiddlewareOptions, PlainOptions, Refused } from './options.ts'
export { SluiceError }

/**
 * rateLimit makes a middleware for Koa, of the plain options (docs/middleware/koa.md) or of koa-ratelimit's.
 *
 *   app.use(rateLimit({ limit: 100, window: '1m' }))
 *   app.use(rateLimit({ driver: 'memory', db: new Map(), max: 100, duration: 60_000 }))
 */
export function rateLimit(options: PlainOptions): GateMiddleware
export function rateLimit(options?: MiddlewareOptions): HitMiddleware
export function rateLimit(options: PlainOptions | MiddlewareOptions = {}): GateMiddleware | HitMiddleware {
  return KIND.isPlain(options) ? gateLimit(options as PlainFields) : hitLimit(options as MiddlewareOptions)
}

export default rateLimit
