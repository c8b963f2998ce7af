// An API of fetch handlers, as Next.js, SvelteKit, Bun and Deno have them. Start it: node examples/fetch/app.mjs
// With REDIS_URL in the environment, all processes share one budget; without, each has its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { protect, rateLimit } from 'sluice/fetch'

const redis = process.env.REDIS_URL

// A Request does not say where it comes from: this runtime passes the connection as a second argument.
const address = (_request, { incoming }) => incoming.socket.remoteAddress

// Logging in: few attempts, counted exactly. Successful ones are refunded.
const login = protect(
  async (request) => {
    const { password } = await request.json()
    const isRight = password === 'open sesame'
    return Response.json({ welcome: isRight }, { status: isRight ? 200 : 401 })
  },
  { redis, address, name: 'login', limit: 5, window: '15m', algorithm: 'sliding_log', by: 'ip', refund: 'success' },
)

// Reports: one at a time for each caller.
const report = protect(
  async (request) => {
    const ms = new URL(request.url).searchParams.get('ms') ?? 1_000
    await sleep(Number(ms), undefined, { signal: request.signal })
    return new Response('a long report\n')
  },
  { redis, address, identity: { apiKey: true }, name: 'reports', limit: 1, algorithm: 'concurrency' },
)

// A search costs ten times as much as anything else.
const search = protect(() => new Response('found\n'), {
  redis,
  address,
  name: 'search',
  limit: 100,
  window: '1m',
  cost: 10,
})

const routes = {
  'GET /': () => new Response('hello\n'),
  'POST /login': login,
  'GET /report': report,
  'GET /search': search,
}

// Every caller: 60 a minute for each API key, and a net ten times as wide for each address. Many people share one
// address behind NAT, so the net must not catch them; but a client that makes up a new key for every request is caught
// by it.
const everybody = rateLimit({
  redis,
  address,
  identity: { apiKey: true },
  limits: [
    { name: 'key', limit: 60, window: '1m', by: 'api_key' },
    { name: 'net', limit: 600, window: '1m', by: 'ip' },
  ],
})

/** Handles a refusal itself; `everybody.protect(handler)` does the same. */
async function fetch(request, connection) {
  const checked = await everybody.check(request, connection)
  if (!checked.allowed) return checked.response
  const handler = routes[`${request.method} ${new URL(request.url).pathname}`]
  return checked.answer(handler ? await handler(request, connection) : new Response('no such page\n', { status: 404 }))
}

serve({ fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
