// An API behind Hono. Start it: node examples/hono/app.mjs
// With REDIS_URL in the environment, all processes share one budget; without, each has its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { rateLimit } from 'sluice/hono'

const redis = process.env.REDIS_URL

const app = new Hono()

// Every caller: 60 a minute for each API key, and a net ten times as wide for each address. Many people share one
// address behind NAT, so the net must not catch them; but a client that makes up a new key for every request is caught
// by it.
app.use(
  rateLimit({
    redis,
    identity: { apiKey: true },
    limits: [
      { name: 'key', limit: 60, window: '1m', by: 'api_key' },
      { name: 'net', limit: 600, window: '1m', by: 'ip' },
    ],
  }),
)

// Logging in: few attempts, counted exactly. Successful ones are refunded.
const logins = rateLimit({
  redis,
  name: 'login',
  limit: 5,
  window: '15m',
  algorithm: 'sliding_log',
  by: 'ip',
  refund: 'success',
})
app.post('/login', logins, async (c) => {
  const { password } = await c.req.json()
  const isRight = password === 'open sesame'
  return c.json({ welcome: isRight }, isRight ? 200 : 401)
})

// Reports: one at a time for each caller.
const reports = rateLimit({
  redis,
  identity: { apiKey: true },
  name: 'reports',
  limit: 1,
  algorithm: 'concurrency',
})
app.get('/report', reports, async (c) => {
  await sleep(Number(c.req.query('ms') ?? 1_000), undefined, { signal: c.req.raw.signal })
  return c.text('a long report\n')
})

// A search costs ten times as much as anything else.
const searches = rateLimit({ redis, name: 'search', limit: 100, window: '1m', cost: 10 })
app.get('/search', searches, (c) => c.text('found\n'))

app.get('/', (c) => c.text('hello\n'))

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
