import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { MaybePromise } from '../../engine/ports.ts'
import type { RateLimitHook } from './options.ts'

type Done = (error?: unknown) => void

/** Works for every kind of hook: it calls back, and without a callback it returns a promise. */
export type Hook = (
  request: FastifyRequest,
  reply: FastifyReply,
  third?: unknown,
  fourth?: unknown,
) => Promise<void> | undefined

/** Returns what is to be thrown at the caller, or undefined for a request that may pass. */
export type Limiting = (request: FastifyRequest, reply: FastifyReply) => MaybePromise<object | undefined>

/**
 * Makes a hook. It calls back rather than returning a promise, so that a synchronous decision continues synchronously.
 */
export function hookOf(limit: Limiting): Hook {
  return (request, reply, third, fourth) => {
    // preParsing gets the payload before the callback.
    const done = (typeof third === 'function' ? third : fourth) as Done | undefined
    if (done === undefined) return limitLater(limit, request, reply)
    let refusal: MaybePromise<object | undefined>
    try {
      refusal = limit(request, reply)
    } catch (error) {
      done(error)
      return undefined
    }
    if (refusal instanceof Promise) refusal.then(done, done)
    else done(refusal)
    return undefined
  }
}

async function limitLater(limit: Limiting, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const refusal = await limit(request, reply)
  if (refusal !== undefined) throw refusal
}

/** Returns the hooks that a route has, as a list that more can be put into. */
export function routeHooks(route: RouteOptions, name: RateLimitHook): Hook[] {
  const hooks = route as unknown as Record<string, Hook | Hook[] | undefined>
  const present = hooks[name]
  const list = Array.isArray(present) ? present : present === undefined ? [] : [present]
  hooks[name] = list
  return list
}
