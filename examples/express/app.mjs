// An API behind Express. Start it: node examples/express/app.mjs
// With REDIS_URL in the environment, all processes share one budget; without, each has its own.
import { once } from 'node:events'
import express from 'express'
import { rateLimit } from 'sluice/express'

const redis = process.env.REDIS_URL

const app = express()

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
app.post('/login', logins, express.json(), (request, response) => {
  const isRight = request.body?.password === 'open sesame'
  response.status(isRight ? 200 : 401).json({ welcome: isRight })
})

// Reports: one at a time for each caller, and a search costs ten times as much as anything else.
const reports = rateLimit({
  redis,
  identity: { apiKey: true },
  name: 'reports',
  limit: 1,
  algorithm: 'concurrency',
})
app.get('/report', reports, (request, response) => {
  const timer = setTimeout(() => response.send('a long report\n'), Number(request.query.ms ?? 1_000))
  // A handler that stops because its client left must end the answer, too: that releases the permit.
  response.once('close', () => {
    clearTimeout(timer)
    response.end()
  })
})
const searches = rateLimit({ redis, name: 'search', limit: 100, window: '1m', cost: 10 })
app.get('/search', searches, (_, response) => response.send('found\n'))

app.get('/', (_, response) => response.send('hello\n'))

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
await once(server, 'listening')
console.log(`listening on http://127.0.0.1:${server.address().port}`)
