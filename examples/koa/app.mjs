// An API behind Koa. Start it: node examples/koa/app.mjs
// With REDIS_URL in the environment, all processes share one budget; without, each has its own.
import { once } from 'node:events'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import Koa from 'koa'
import { rateLimit } from 'sluice/koa'

const redis = process.env.REDIS_URL

const app = new Koa()

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

/** Runs middlewares for one route. */
const on = (method, path, ...middlewares) => {
  for (const each of middlewares) {
    app.use((ctx, next) => (ctx.method === method && ctx.path === path ? each(ctx, next) : next()))
  }
}

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
on('POST', '/login', logins, async (ctx) => {
  const { password } = await json(ctx.req)
  const isRight = password === 'open sesame'
  ctx.status = isRight ? 200 : 401
  ctx.body = { welcome: isRight }
})

// Reports: one at a time for each caller.
const reports = rateLimit({ redis, identity: { apiKey: true }, name: 'reports', limit: 1, algorithm: 'concurrency' })
on('GET', '/report', reports, async (ctx) => {
  // A handler that stops because its client left releases the permit.
  const left = new AbortController()
  ctx.res.once('close', () => left.abort())
  await sleep(Number(ctx.query.ms ?? 1_000), undefined, { ref: false, signal: left.signal })
  ctx.body = 'a long report\n'
})

// A search costs ten times as much as anything else.
const searches = rateLimit({ redis, name: 'search', limit: 100, window: '1m', cost: 10 })
on('GET', '/search', searches, (ctx) => {
  ctx.body = 'found\n'
})

on('GET', '/', (ctx) => {
  ctx.body = 'hello\n'
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
await once(server, 'listening')
console.log(`listening on http://127.0.0.1:${server.address().port}`)
