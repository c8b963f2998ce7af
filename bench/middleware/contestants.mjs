import { createClient } from '@redis/client'

/** Nothing is refused, and nothing is given back: what is measured is the price of being counted. */
const LIMIT = 1_000_000_000
const WINDOW_MS = 86_400_000
/** What Redis did not decide is refused, and shows. */
const STRICT = { timeoutMs: 10_000, onStoreFailure: 'closed' }

/**
 * Has for each framework how to serve with a middleware, and its contestants: `peer` is the middleware that its users
 * have today, `same` is Sluice with that one's options, `plain` is Sluice with its own. Each gets the address of Redis,
 * or undefined for memory. A process loads what it serves with, and nothing else.
 */
export const frameworks = {
  express: {
    peerName: 'express-rate-limit',
    serve: async (middleware) => {
      const { default: express } = await import('express')
      const app = express()
      app.disable('x-powered-by')
      app.disable('etag')
      if (middleware !== undefined) app.use(middleware)
      app.get('/', (_, response) => response.send('ok'))
      return new Promise((resolve) => {
        const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port))
      })
    },
    contestants: {
      bare: async () => undefined,
      peer: async (redis) => {
        const { rateLimit } = await import('express-rate-limit')
        return rateLimit({ windowMs: WINDOW_MS, limit: LIMIT, ...(redis && (await peerStore(redis))) })
      },
      same: async (redis) => {
        const { rateLimit } = await import('../../dist/compat/express-rate-limit/index.js')
        return rateLimit({ windowMs: WINDOW_MS, limit: LIMIT, legacyHeaders: true, redis })
      },
      plain: async (redis) => {
        const { rateLimit } = await import('../../dist/middleware/express/index.js')
        return rateLimit({ window: `${WINDOW_MS}ms`, limit: LIMIT, ...STRICT, redis })
      },
    },
  },
  fastify: {
    peerName: '@fastify/rate-limit',
    serve: async (registration) => {
      const { default: fastify } = await import('fastify')
      const app = fastify()
      if (registration !== undefined) await app.register(...registration)
      app.get('/', (_, reply) => reply.send('ok'))
      await app.listen({ port: 0, host: '127.0.0.1' })
      return app.server.address().port
    },
    contestants: {
      bare: async () => undefined,
      peer: async (redis) => {
        const { default: rateLimit } = await import('@fastify/rate-limit')
        return [rateLimit, { timeWindow: WINDOW_MS, max: LIMIT, redis: await ioredis(redis) }]
      },
      same: async (redis) => {
        const { default: rateLimit } = await import('../../dist/compat/fastify-rate-limit/index.js')
        return [rateLimit, { timeWindow: WINDOW_MS, max: LIMIT, redis: await ioredis(redis) }]
      },
      plain: async (redis) => {
        const { default: rateLimit } = await import('../../dist/middleware/fastify/index.js')
        return [rateLimit, { window: `${WINDOW_MS}ms`, limit: LIMIT, ...STRICT, redis }]
      },
    },
  },
}

async function peerStore(url) {
  const { RedisStore } = await import('rate-limit-redis')
  const client = await createClient({ url }).connect()
  return { store: new RedisStore({ sendCommand: (...args) => client.sendCommand(args) }) }
}

/** The only client that @fastify/rate-limit takes; Sluice is given the same one. */
async function ioredis(url) {
  if (url === undefined) return undefined
  const { Redis } = await import('ioredis')
  return new Redis(url)
}
