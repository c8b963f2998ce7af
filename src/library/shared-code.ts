import { SharedRateLimiter } from './shared-rate-limit.ts'

type Parameters = ConstructorParameters<typeof SharedRateLimiter>

/** Makes a limit on Redis. In the packed library, shared-code.packed.ts takes the place of this file. */
export function sharedLimiter(...parameters: Parameters): SharedRateLimiter {
  return new SharedRateLimiter(...parameters)
}
