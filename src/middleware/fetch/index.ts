import { SluiceError } from '../../core/errors.ts'
import { FetchLimiter, rateLimitOf } from './limiter.ts'
import type { FetchHandler, FetchOptions } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type { Checked } from './checked.ts'
export type { FetchHandler, FetchOptions, Refused } from './options.ts'
export type { FetchLimiter }
export { rateLimitOf, SluiceError }

/**
 * Makes a limiter for fetch handlers: of Next.js, SvelteKit, Bun, Deno and their like.
 *
 *   const limiter = rateLimit({ limit: 100, window: '1m' })
 *   const { allowed, response } = await limiter.check(request)
 */
export function rateLimit(options: FetchOptions): FetchLimiter {
  return new FetchLimiter(options)
}

/**
 * protect limits the requests of one handler.
 *
 *   export const GET = protect(async (request) => Response.json({}), { limit: 100, window: '1m' })
 */
export function protect<R extends Request, A extends readonly unknown[], T>(
  handler: FetchHandler<R, A, T>,
  options: FetchOptions,
): ((request: R, ...extra: A) => Promise<T | Response>) & Pick<FetchLimiter, 'reset' | 'resetAll' | 'close'> {
  const limiter = rateLimit(options)
  return Object.assign(limiter.protect(handler), {
    reset: limiter.reset.bind(limiter),
    resetAll: limiter.resetAll.bind(limiter),
    close: limiter.close.bind(limiter),
  })
}
