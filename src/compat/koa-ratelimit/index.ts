import { hitLimit } from './hit-limit.ts'
import type { HitMiddleware, MiddlewareOptions } from './options.ts'

export { SluiceError } from '../../core/errors.ts'
export type { HitMiddleware, MiddlewareOptions } from './options.ts'

/**
 * Makes a middleware for Koa of the options of koa-ratelimit. Changing over is one changed import.
 *
 *   app.use(rateLimit({ driver: 'memory', db: new Map(), max: 100, duration: 60_000 }))
 */
export function rateLimit(options: MiddlewareOptions = {}): HitMiddleware {
  return hitLimit(options)
}

export default rateLimit
