import type { FastifyPluginCallback } from 'fastify'
import { SluiceError } from '../../core/errors.ts'
import { gatePlugin } from './gate-plugin.ts'
import { hitPlugin } from './hit-plugin.ts'
import { normalizeIP } from './normalize-ip.ts'
import { KIND } from './option-forms.ts'
import type { PlainOptions, RateLimitPluginOptions } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type {
  CreateRateLimitOptions,
  errorResponseBuilderContext,
  FastifyRateLimitOptions,
  FastifyRateLimitStore,
  FastifyRateLimitStoreCtor,
  PlainOptions,
  RateLimitCheck,
  RateLimitHook,
  RateLimitOptions,
  RateLimitPluginOptions,
  RateLimitState,
  Refused,
} from './options.ts'
export { normalizeIP, SluiceError }

/**
 * fastifyRateLimit is a plugin for Fastify, with the plain options (docs/middleware.md) or with @fastify/rate-limit's.
 *
 *   app.register(rateLimit, { limit: 100, window: '1m' })
 *   app.register(rateLimit, { max: 100, timeWindow: '1 minute' })
 */
const fastifyRateLimit: FastifyPluginCallback<PlainOptions | RateLimitPluginOptions> = (fastify, options, done) => {
  try {
    if (KIND.isPlain(options)) gatePlugin(fastify, options as PlainOptions)
    else hitPlugin(fastify, options as RateLimitPluginOptions)
  } catch (error) {
    done(error as Error)
    return
  }
  done()
}

// What the package fastify-plugin would say: the hooks are those of the app that registers the plugin.
Object.assign(fastifyRateLimit, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
  [Symbol.for('plugin-meta')]: { name: 'sluice', fastify: '5.x' },
})

export { fastifyRateLimit, fastifyRateLimit as rateLimit }
export default fastifyRateLimit
