import type { Env, Input } from 'hono'
import { gateLimit } from './gate-limit.ts'
import type { GateMiddleware, PlainOptions } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export { SluiceError } from '../../core/errors.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type { GateMiddleware, PlainOptions, RateLimitInfo, RateLimitVariable, Refused } from './options.ts'

/**
 * Makes a middleware for Hono (docs/middleware/hono.md).
 *
 *   app.use(rateLimit({ limit: 100, window: '1m' }))
 */
export function rateLimit<E extends Env = Env, P extends string = string, I extends Input = Input>(
  options: PlainOptions<E, P, I>,
): GateMiddleware<E, P, I>
export function rateLimit(options: PlainOptions): GateMiddleware {
  return gateLimit(options)
}
