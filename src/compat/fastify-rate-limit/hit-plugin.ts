import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { MaybePromise } from '../../engine/ports.ts'
import { checkTrust } from '../../middleware/fastify/check-trust.ts'
import { type Hook, hookOf, routeHooks } from '../../middleware/fastify/route-hooks.ts'
import { hitCounter } from './hit-counter.ts'
import { type Group, HitLimiter } from './hit-limit.ts'
import { type HitParams, hitParams, routeParams } from './hit-params.ts'
import { heldHitOptions } from './option-forms.ts'
import type { RateLimitOptions, RateLimitPluginOptions } from './options.ts'

/** Limits the routes of an app by the options of @fastify/rate-limit. */
export function hitPlugin(fastify: FastifyInstance, given: RateLimitPluginOptions): void {
  const options = heldHitOptions(given)
  const params = hitParams(options)
  if (params.keyGenerator === undefined) checkTrust(fastify)
  const counter = hitCounter(options, params)
  const counters = [counter]
  // A request is counted once by one plugin, however many of its hooks it meets.
  const ran = Symbol('sluice.rateLimitRan')
  fastify.decorateRequest(ran, false)

  const limiterOf = (own: RateLimitOptions | undefined, routeInfo: object, group: Group): [HitParams, HitLimiter] => {
    if (typeof own !== 'object') return [params, new HitLimiter(params, counter, group)]
    const merged = routeParams(params, heldHitOptions(own), routeInfo)
    const child = counter.child(merged)
    counters.push(child)
    return [merged, new HitLimiter(merged, child, group)]
  }

  if (!fastify.hasDecorator('createRateLimit')) {
    fastify.decorate('createRateLimit', (own) => {
      const [, limiter] = limiterOf(own, {}, groupOf)
      return async (request, { increment } = {}) => limiter.state(request, increment !== false)
    })
  }
  if (!fastify.hasDecorator('rateLimit')) {
    fastify.decorate('rateLimit', ((own?: RateLimitOptions) => once(limiterOf(own, {}, groupOf)[1], ran)) as never)
  }
  fastify.addHook('onRoute', (route) => {
    const own = route.config?.rateLimit as RateLimitOptions | false | null | undefined
    if (own === false || (own == null && !params.global)) return
    if (own != null && typeof own !== 'object') throw new TypeError('Unknown value for route rate-limit configuration')
    const [{ hook }, limiter] = limiterOf(own ?? undefined, route, own?.groupId)
    routeHooks(route as RouteOptions, hook).push(once(limiter, ran))
  })
  fastify.addHook('onClose', async () => {
    await Promise.all(counters.map((each) => each.close()))
  })
}

/** Asks the route that a request came to. Hooks of a route know theirs: to ask builds an object. */
function groupOf(request: FastifyRequest): string | undefined {
  const own = request.routeOptions.config?.rateLimit as RateLimitOptions | undefined
  return own?.groupId
}

function once(limiter: HitLimiter, ran: symbol): Hook {
  return hookOf((request: FastifyRequest, reply: FastifyReply): MaybePromise<object | undefined> => {
    const marked = request as FastifyRequest & Record<symbol, boolean>
    if (marked[ran]) return undefined
    marked[ran] = true
    return limiter.limit(request, reply)
  })
}
