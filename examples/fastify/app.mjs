// An API behind Fastify. Start it: node examples/fastify/app.mjs
// With REDIS_URL in the environment, all processes share one budget; without, each has its own.
import fastify from 'fastify'
import rateLimit from 'sluice/fastify'

const redis = process.env.REDIS_URL

const app = fastify({ forceCloseConnections: true })

// Every caller: 60 a minute for each API key, and a net ten times as wide for each address. Many people share one
// address behind NAT, so the net must not catch them; but a client that makes up a new key for every request is caught
// by it.
await app.register(rateLimit, {
  redis,
  identity: { apiKey: true },
  limits: [
    { name: 'key', limit: 60, window: '1m', by: 'api_key' },
    { name: 'net', limit: 600, window: '1m', by: 'ip' },
  ],
})

// Logging in has a separate limit: few attempts, counted exactly. Successful ones are refunded.
const attempts = { limit: 5, window: '15m', algorithm: 'sliding_log', by: 'ip', refund: 'success' }
app.post('/login', { config: { rateLimit: attempts } }, async (request, reply) => {
  const isRight = request.body?.password === 'open sesame'
  return reply.code(isRight ? 200 : 401).send({ welcome: isRight })
})

// Reports: one at a time for each caller, in addition to everything else.
const oneAtATime = app.rateLimit({ name: 'reports', limit: 1, algorithm: 'concurrency' })
app.get('/report', { preHandler: oneAtATime }, (request, reply) => {
  const timer = setTimeout(() => reply.send('a long report\n'), Number(request.query.ms ?? 1_000))
  // A handler that stops because its client left must end the answer, too: that releases the permit.
  reply.raw.once('close', () => {
    clearTimeout(timer)
    reply.raw.end()
  })
})

app.get('/health', { config: { rateLimit: false } }, async () => 'well\n')
app.get('/', async (request) => `hello, ${request.rateLimit.remaining} left\n`)

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
console.log(`listening on http://127.0.0.1:${app.server.address().port}`)
