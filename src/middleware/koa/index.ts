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
export type { GateMiddleware, PlainOptions, Refused } from './options.ts'

/**
 * Makes a middleware for Koa (docs/middleware/koa.md).
 *
 *   app.use(rateLimit({ limit: 100, window: '1m' }))
 */
export function rateLimit(options: PlainOptions): GateMiddleware {
  return gateLimit(options)
}

export default rateLimit
