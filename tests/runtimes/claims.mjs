// Claims about the packed library, without a test runner, so that every runtime can try them: npm run test:runtimes.
// It prints a line for each, and how many held.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const PLAIN = { limit: 1, window: '1m' }

/** Where a server gives answers, by how many it was asked for. */
async function servedUrl(answerOf) {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    const [status, fields] = answerOf(asked)
    response.writeHead(status, { ...fields, connection: 'close' }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  server.unref()
  return `http://127.0.0.1:${server.address().port}/`
}

const claims = {
  async 'a limit admits what it says, for each algorithm'() {
    const { rateLimit } = await import('sluice')
    const algorithms = ['sliding_window', 'token_bucket', 'gcra', 'leaky_bucket', 'fixed_window', 'sliding_log']
    for (const algorithm of algorithms) {
      const limiter = rateLimit({ limit: 2, window: '1h', algorithm })
      const kinds = [1, 2, 3].map(() => limiter.check('a').allowed)
      assert.deepEqual(kinds, [true, true, false], algorithm)
    }
  },
  async 'a place is given back'() {
    const { rateLimit } = await import('sluice')
    const limiter = rateLimit({ limit: 1, algorithm: 'concurrency' })
    const permit = limiter.acquire('a')
    assert.equal(limiter.acquire('a').allowed, false)
    permit.release()
    assert.equal(limiter.acquire('a').allowed, true)
  },
  async 'rules decide together'() {
    const { createLimiter } = await import('sluice')
    const rule = (key, requests_per_unit) => ({ key, rate_limit: { unit: 'hour', requests_per_unit } })
    const limiter = createLimiter({ rules: { domain: 'api', descriptors: [rule('user', 9), rule('ip', 1)] } })
    const entry = (key) => ({ entries: [{ key, value: 'a' }] })
    const request = { domain: 'api', descriptors: [entry('user'), entry('ip')] }
    assert.equal(limiter.check(request).allowed, true)
    assert.equal(limiter.check(request).allowed, false)
    assert.equal(limiter.check({ ...request, descriptors: [entry('user')] }).verdicts[0].verdict.remaining, 7)
  },
  async 'a mistake is an error that states the rule'() {
    const { rateLimit, SluiceError } = await import('sluice')
    assert.throws(
      () => rateLimit({ limit: -1, window: '1m' }),
      (error) => error instanceof SluiceError && error.code === 'LIMIT_INVALID',
    )
  },
  async 'the client waits as it is told, and spreads calls over what is left'() {
    const { createFetch, parseRateLimits, shareTabs } = await import('sluice-client')
    const url = await servedUrl((asked) =>
      asked === 1
        ? [429, { 'Retry-After-Ms': '5' }]
        : [200, { RateLimit: '"a";r=90;t=1', 'RateLimit-Policy': '"a";q=100;w=1' }],
    )
    const share = shareTabs('claims')
    const paced = createFetch({ share })
    const responses = await Promise.all(Array.from({ length: 20 }, () => paced(url)))
    assert.ok(responses.every(({ status }) => status === 200))
    assert.equal(parseRateLimits(responses[0].headers).budgets[0].limit, 100)
    assert.equal(paced.counts().refused, 1)
    paced.close()
  },
  async 'the client gives up at its deadline, with the refusal of the server'() {
    const { createFetch } = await import('sluice-client')
    const url = await servedUrl(() => [429, { 'Retry-After': '100' }])
    const response = await createFetch({ deadlineMs: 1_000 })(url)
    assert.equal(response.status, 429)
    assert.equal(response.headers.get('retry-after'), '100')
  },
  async 'the client of the check API decides when nobody answers'() {
    const { createCheckClient } = await import('sluice-client/check')
    const client = createCheckClient({ url: 'http://127.0.0.1:1', onFailure: 'closed' })
    assert.equal((await client.check({ domain: 'api', descriptors: [] })).allowed, false)
  },
  async 'the client of the ledger asks again, and says when nobody answers'() {
    const { createLedgerClient } = await import('sluice-client/ledger')
    let asked = 0
    const url = await servedUrl((count) => {
      asked = count
      return [503, {}]
    })
    const ledger = createLedgerClient({ url, token: 't', retries: 1 })
    await assert.rejects(ledger.balance({ customer: 'a', meter: 'm' }), { name: 'LedgerError', status: 503 })
    assert.equal(asked, 2)
  },
  async 'rules in YAML are read'() {
    const { rateLimit } = await import('sluice/fetch')
    const rules = 'domain: api\ndescriptors:\n  - { key: path, rate_limit: { unit: hour, requests_per_unit: 1 } }\n'
    const limiter = rateLimit({ rules })
    assert.deepEqual([await fetchStatus(limiter), await fetchStatus(limiter)], [200, 429])
  },
  async 'tokens are verified'() {
    const { rateLimit } = await import('sluice/fetch')
    const secret = 'a secret of at least thirty-two bytes'
    const limiter = rateLimit({ ...PLAIN, by: 'user', identity: { jwt: { secret } } })
    const headers = (user) => ({ authorization: `Bearer ${tokenOf(user, secret)}` })
    const asked = [await fetchStatus(limiter, headers('a')), await fetchStatus(limiter, headers('a'))]
    assert.deepEqual([...asked, await fetchStatus(limiter, headers('b'))], [200, 429, 200])
  },
  async 'fetch handlers are protected'() {
    const { protect } = await import('sluice/fetch')
    const handle = protect(async () => new Response('hello'), { ...PLAIN, by: () => 'a' })
    const answers = [await handle(new Request('http://localhost/')), await handle(new Request('http://localhost/'))]
    checkAnswers(answers)
  },
  async 'Express is protected'() {
    const { default: express } = await import('express')
    const { rateLimit } = await import('sluice/express')
    const app = express()
      .use(rateLimit(PLAIN))
      .get('/', (_, response) => response.send('hello'))
    await checkServer(createServer(app))
  },
  async 'the options of express-rate-limit work'() {
    const { default: express } = await import('express')
    const { rateLimit } = await import('sluice/compat/express-rate-limit')
    const app = express()
      .use(rateLimit({ limit: 1, windowMs: 60_000, standardHeaders: 'draft-8' }))
      .get('/', (_, response) => response.send('hello'))
    await checkServer(createServer(app))
  },
  async 'Koa is protected'() {
    const { default: Koa } = await import('koa')
    const { rateLimit } = await import('sluice/koa')
    const app = new Koa()
    app.use(rateLimit(PLAIN)).use((context) => {
      context.body = 'hello'
    })
    await checkServer(createServer(app.callback()))
  },
  async 'Fastify is protected'() {
    const { default: Fastify } = await import('fastify')
    const { default: rateLimit } = await import('sluice/fastify')
    const app = Fastify()
    await app.register(rateLimit, PLAIN)
    app.get('/', async () => 'hello')
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    checkAnswers([await fetch(address), await fetch(address)])
    await app.close()
  },
  async 'Hono is protected'() {
    const { Hono } = await import('hono')
    const { rateLimit } = await import('sluice/hono')
    const app = new Hono()
    app.use(rateLimit({ ...PLAIN, by: () => 'a' })).get('/', (context) => context.text('hello'))
    checkAnswers([await app.request('/'), await app.request('/')])
  },
  async 'Nest is protected'() {
    await import('reflect-metadata')
    const { Controller, Get, Module } = await import('@nestjs/common')
    const { NestFactory } = await import('@nestjs/core')
    const { SluiceModule } = await import('sluice/nest')
    class Hello {
      hello() {
        return 'hello'
      }
    }
    Get()(Hello.prototype, 'hello', Object.getOwnPropertyDescriptor(Hello.prototype, 'hello'))
    Controller()(Hello)
    class App {}
    Module({ imports: [SluiceModule.forRoot(PLAIN)], controllers: [Hello] })(App)
    const app = await NestFactory.create(App, { logger: false })
    await app.listen(0, '127.0.0.1')
    const address = `http://127.0.0.1:${app.getHttpServer().address().port}/`
    checkAnswers([await fetch(address), await fetch(address)])
    await app.close()
  },
  async 'require returns what import does'() {
    const require = createRequire(import.meta.url)
    const { default: rateLimit, MemoryStore } = await import('sluice/compat/express-rate-limit')
    assert.equal(require('sluice/compat/express-rate-limit'), rateLimit)
    assert.equal(require('sluice/compat/express-rate-limit').MemoryStore, MemoryStore)
    assert.equal(typeof require('sluice').rateLimit, 'function')
  },
  async 'counters are shared through Redis'() {
    const redis = process.env.REDIS_URL
    if (redis === undefined) return 'no REDIS_URL'
    const { rateLimit } = await import('sluice/fetch')
    const caller = String(Math.random())
    const limiter = rateLimit({ ...PLAIN, redis, onStoreFailure: 'closed', timeoutMs: 60_000, by: () => caller })
    const startedAt = Date.now()
    while ((await fetchStatus(limiter)) !== 200) assert.ok(Date.now() - startedAt < 20_000, 'no answer in 20 seconds')
    assert.equal(await fetchStatus(limiter), 429)
    await limiter.close()
  },
}

async function fetchStatus(limiter, headers = {}) {
  const { response } = await limiter.check(new Request('http://localhost/', { headers }))
  return response?.status ?? 200
}

function tokenOf(user, secret) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256' })}.${part({ sub: user })}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** Checks two answers of which the second is one too many. */
function checkAnswers([first, second]) {
  assert.deepEqual([first.status, second.status], [200, 429])
  assert.match(first.headers.get('ratelimit') ?? '', /r=0/)
  assert.ok(Number(second.headers.get('retry-after')) > 0)
}

async function checkServer(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${server.address().port}/`
  checkAnswers([await fetch(address), await fetch(address)])
  server.close()
  server.closeAllConnections?.()
}

let passed = 0
let failed = 0
for (const [claim, holds] of Object.entries(claims)) {
  try {
    const skipped = await holds()
    if (skipped === undefined) passed++
    console.log(skipped === undefined ? `ok      ${claim}` : `skipped ${claim}: ${skipped}`)
  } catch (error) {
    failed++
    console.log(`failed  ${claim}: ${error?.stack ?? error}`)
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
