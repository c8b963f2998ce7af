import type { Context, Next } from 'hono'
import { addressKey } from '../../middleware/hono/connection.ts'
import { defined } from './defined.ts'
import { sendMessage } from './message.ts'
import type { CloudflareConfigProps, CloudflareConfigType, HitMiddleware } from './options.ts'

/** Makes a middleware that asks a rate limit binding of Cloudflare Workers, as hono-rate-limiter does. */
export function bindingLimit(given: CloudflareConfigProps): HitMiddleware {
  const options: CloudflareConfigType = {
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    keyGenerator: (c) => addressKey(c, given.getConnInfo),
    skip: () => false,
    handler: (c, _next, used) => sendMessage(c, used),
    ...defined(given),
  }
  const { binding, keyGenerator, skip, handler } = options
  const middleware = async (c: Context, next: Next): Promise<unknown> => {
    if (await skip(c)) return next()
    const limiter = typeof binding === 'function' ? binding(c) : binding
    const { success } = await limiter.limit({ key: await keyGenerator(c) })
    return success ? next() : await handler(c, next, { ...options, binding: limiter })
  }
  return Object.assign(middleware as unknown as HitMiddleware, {
    resetAll: async () => {
      throw new Error('a Cloudflare binding cannot reset its keys')
    },
    close: async () => {},
  })
}
