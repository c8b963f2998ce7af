import type { FastifyPluginCallback } from 'fastify'
import { gatePlugin } from './gate-plugin.ts'
import type { PlainOptions } from './options.ts'

export type { Decision, RuleVerdict } from '../../core/combine.ts'
export type { Verdict } from '../../core/decision.ts'
export { SluiceError } from '../../core/errors.ts'
export type { ApiKeyOptions } from '../../core/identity/api-key.ts'
export type { Budget } from '../../http-door/budget.ts'
export type { Caller, IdentityOptions } from '../../http-door/caller.ts'
export type { Pass } from '../../http-door/gate.ts'
export type { LimitSpec } from '../../http-door/limit-spec.ts'
export type { JwtOptions } from '../../identity/jwt-verifier.ts'
export type { PlainOptions, RateLimitHook, Refused } from './options.ts'

/**
 * A plugin for Fastify (docs/middleware/fastify.md).
 *
 *   app.register(rateLimit, { limit: 100, window: '1m' })
 */
const fastifyRateLimit: FastifyPluginCallback<PlainOptions> = (fastify, options, done) => {
  try {
    gatePlugin(fastify, options)
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
