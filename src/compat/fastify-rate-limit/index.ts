import type { FastifyPluginCallback } from 'fastify'
import { hitPlugin } from './hit-plugin.ts'
import type { RateLimitPluginOptions } from './options.ts'

export { SluiceError } from '../../core/errors.ts'
export { normalizeIP } from './normalize-ip.ts'
export type {
  CreateRateLimitOptions,
  errorResponseBuilderContext,
  FastifyRateLimitOptions,
  FastifyRateLimitStore,
  FastifyRateLimitStoreCtor,
  RateLimitCheck,
  RateLimitHook,
  RateLimitOptions,
  RateLimitPluginOptions,
  RateLimitState,
} from './options.ts'

/**
 * A plugin for Fastify for the options of @fastify/rate-limit. Changing over is one changed import.
 *
 *   app.register(rateLimit, { max: 100, timeWindow: '1 minute' })
 */
const fastifyRateLimit: FastifyPluginCallback<RateLimitPluginOptions> = (fastify, options, done) => {
  try {
    hitPlugin(fastify, options)
  } catch (error) {
    done(error as Error)
    return
  }
  done()
}

// What the package fastify-plugin would set: the hooks apply to the app that registers the plugin.
Object.assign(fastifyRateLimit, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
  [Symbol.for('plugin-meta')]: { name: 'sluice', fastify: '5.x' },
})

export { fastifyRateLimit, fastifyRateLimit as rateLimit }
export default fastifyRateLimit
