import { SluiceError } from '../../core/errors.ts'
import { compileLimit, type Limit, type LimitOptions } from '../../core/limit.ts'

/** A span with its unit, as @upstash/ratelimit has it: `10 s`, `1m`. */
export type Duration = `${number} ${Unit}` | `${number}${Unit}`
type Unit = 'ms' | 's' | 'm' | 'h' | 'd'

/** What a Ratelimit counts, as the functions of the class make it. */
export interface Algorithm {
  readonly limit: Limit
  /** A part of the budget is lent to the process, so that most calls need no Redis. */
  readonly isLeased: boolean
}

function algorithmOf(where: string, options: LimitOptions, isLeased = false): Algorithm {
  return Object.freeze({ limit: compileLimit(options, where), isLeased })
}

export function fixedWindow(tokens: number, window: Duration): Algorithm {
  return algorithmOf('fixedWindow', { algorithm: 'fixed_window', limit: tokens, window })
}

export function cachedFixedWindow(tokens: number, window: Duration): Algorithm {
  return algorithmOf('cachedFixedWindow', { algorithm: 'fixed_window', limit: tokens, window }, true)
}

export function slidingWindow(tokens: number, window: Duration): Algorithm {
  return algorithmOf('slidingWindow', { algorithm: 'sliding_window', limit: tokens, window })
}

export function tokenBucket(refillRate: number, interval: Duration, maxTokens: number): Algorithm {
  const options = { algorithm: 'token_bucket', limit: refillRate, window: interval, burst: maxTokens } as const
  return algorithmOf('tokenBucket', options)
}

/** Refuses what was not made by the functions above, such as an algorithm of @upstash/ratelimit itself. */
export function checkAlgorithm(limiter: unknown): void {
  if (typeof limiter === 'object' && limiter !== null && 'limit' in limiter && 'isLeased' in limiter) return
  const detail =
    'not made by Ratelimit.slidingWindow(), fixedWindow(), tokenBucket() or cachedFixedWindow() of this module'
  throw new SluiceError('GATE_OPTIONS_INVALID', 'limiter', detail)
}
