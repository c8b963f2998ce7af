import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { NO_LIMIT } from '../../http-door/budget.ts'
import { defaultNames } from '../../http-door/default-names.ts'
import { TIGHTEST } from '../../http-door/field-merge.ts'
import { STORE_OPTIONS } from '../../http-door/gate-options.ts'
import { checkTrust } from './check-trust.ts'
import { type Done, GateLimiter } from './gate-limit.ts'
import type { PlainOptions } from './options.ts'

/** Limits everything that comes in, also for routes that it does not have. */
export function gatePlugin(fastify: FastifyInstance, options: PlainOptions): void {
  const limiters: GateLimiter[] = []
  const limiterOf = (own: PlainOptions): GateLimiter => {
    const limiter = new GateLimiter(own)
    limiters.push(limiter)
    return limiter
  }
  const whole = limiterOf(options)
  const ownLimiter = (own: PlainOptions, named: object | false = false): GateLimiter => {
    return limiterOf({ ...inherited(options), ...own, ...named })
  }
  if (options.identity?.trustedProxies === undefined) checkTrust(fastify)
  /** The limiters of routes with separate options, by these. */
  const ofRoutes = new Map<object | false, GateLimiter | undefined>()

  if (!fastify.hasRequestDecorator('rateLimit')) fastify.decorateRequest('rateLimit', null as never)
  // What every reply gets it has from the beginning: to add it later would change its shape.
  if (!fastify.hasReplyDecorator(TIGHTEST)) fastify.decorateReply(TIGHTEST, null)
  if (!fastify.hasDecorator('rateLimit')) {
    fastify.decorate('rateLimit', ((own?: PlainOptions) =>
      hookOf(own === undefined ? whole : ownLimiter(own))) as never)
  }
  fastify.addHook('onRoute', ({ config, method, url }) => {
    const own = config?.rateLimit as PlainOptions | false | undefined
    if (own === undefined || ofRoutes.has(own)) return
    const named = own !== false && defaultNames(`${method} ${url}`, own)
    ofRoutes.set(own, own === false ? undefined : ownLimiter(own, named))
  })
  const handle = (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    // To ask a request for its route builds an object.
    const own = ofRoutes.size === 0 ? undefined : (request.routeOptions.config?.rateLimit as PlainOptions | false)
    const limiter = own === undefined || !ofRoutes.has(own) ? whole : ofRoutes.get(own)
    if (limiter !== undefined) limiter.handle(request, reply, done)
    else {
      request.rateLimit ??= NO_LIMIT
      done()
    }
  }
  if (options.hook === 'preParsing') {
    fastify.addHook('preParsing', (request, reply, _payload, done) => handle(request, reply, done))
  } else fastify.addHook((options.hook ?? 'onRequest') as 'onRequest', handle)
  fastify.addHook('onClose', async () => {
    await Promise.all(limiters.map((each) => each.close()))
  })
}

/** Returns what a route's limit has of the app's: everything but the limit itself. */
function inherited(options: PlainOptions): object {
  return Object.fromEntries(INHERITED.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])))
}

const INHERITED = [...STORE_OPTIONS, 'identity', 'headers', 'onError', 'handler'] as const

/** Makes a hook of a limiter: one that calls back; in preParsing it gets the payload before the callback. */
function hookOf(limiter: GateLimiter) {
  return (request: FastifyRequest, reply: FastifyReply, ...rest: unknown[]): void =>
    limiter.handle(request, reply, rest[rest.length - 1] as Done)
}
