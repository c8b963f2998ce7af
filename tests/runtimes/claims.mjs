// Claims about the packed library, without a test runner, so that every runtime can try them: npm run test:runtimes.
// It prints a line for each, and how many held.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
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
  async 'Koa is protected by the options of koa-ratelimit'() {
    const { default: Koa } = await import('koa')
    const { default: rateLimit } = await import('sluice/compat/koa-ratelimit')
    const app = new Koa()
    app.use(rateLimit({ driver: 'memory', db: new Map(), max: 1, duration: 60_000 })).use((context) => {
      context.body = 'hello'
    })
    assert.deepEqual(await statusesOf(createServer(app.callback())), [200, 429])
  },
  async 'Fastify is protected by the options of @fastify/rate-limit'() {
    const { default: Fastify } = await import('fastify')
    const { default: rateLimit } = await import('sluice/compat/fastify-rate-limit')
    const app = Fastify()
    await app.register(rateLimit, { max: 1, timeWindow: '1 minute' })
    app.get('/', async () => 'hello')
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    assert.deepEqual([(await fetch(address)).status, (await fetch(address)).status], [200, 429])
    await app.close()
  },
  async 'Hono is protected by the options of hono-rate-limiter'() {
    const { Hono } = await import('hono')
    const { rateLimiter } = await import('sluice/compat/hono-rate-limiter')
    const limiter = rateLimiter({ limit: 1, windowMs: 60_000, keyGenerator: () => 'a' })
    const app = new Hono().use(limiter).get('/', (context) => context.text('hello'))
    assert.deepEqual([(await app.request('/')).status, (await app.request('/')).status], [200, 429])
    await limiter.close()
  },
  async 'the methods of @upstash/ratelimit work'() {
    const { Ratelimit } = await import('sluice/compat/upstash-ratelimit')
    const ratelimit = new Ratelimit({ limiter: Ratelimit.slidingWindow(1, '10 s') })
    assert.deepEqual([(await ratelimit.limit('a')).success, (await ratelimit.limit('a')).success], [true, false])
    await ratelimit.close()
  },
  async 'hits of @nestjs/throttler are counted'() {
    await import('reflect-metadata')
    const { SluiceStorage } = await import('sluice/compat/nestjs-throttler')
    const storage = new SluiceStorage()
    assert.equal((await storage.increment('a', 60_000, 1, 60_000, 'default')).isBlocked, false)
    assert.equal((await storage.increment('a', 60_000, 1, 60_000, 'default')).isBlocked, true)
  },
  async 'decisions are counted for Prometheus, and have spans'() {
    const { Registry } = await import('prom-client')
    const { rateLimit } = await import('sluice')
    const { prometheus } = await import('sluice/prometheus')
    const { opentelemetry } = await import('sluice/opentelemetry')
    const registry = new Registry()
    rateLimit({ ...PLAIN, name: 'login', observer: prometheus({ registry }) }).check('a')
    assert.match(
      await registry.metrics(),
      /ratelimit_decisions_total\{domain="",rule="login",outcome="allowed",door="app"\} 1/,
    )
    assert.equal(rateLimit({ ...PLAIN, observer: opentelemetry() }).check('a').allowed, true)
  },
  async 'rules, tokens and shedding work with the code that bundlers follow'() {
    const { rateLimit } = await import('sluice/fetch')
    const { jwt } = await import('sluice/jwt')
    const { rules } = await import('sluice/rules')
    const { shed } = await import('sluice/shed')
    const given = { domain: 'api', descriptors: [{ key: 'path', rate_limit: { unit: 'hour', requests_per_unit: 1 } }] }
    const byRules = rateLimit({ rules: rules(given) })
    assert.deepEqual([await fetchStatus(byRules), await fetchStatus(byRules)], [200, 429])
    const secret = 'a secret of at least thirty-two bytes'
    const byUser = rateLimit({ ...PLAIN, by: 'user', identity: { jwt: jwt({ secret }) } })
    const headers = { authorization: `Bearer ${tokenOf('a', secret)}` }
    assert.deepEqual([await fetchStatus(byUser, headers), await fetchStatus(byUser, headers)], [200, 429])
    const shedding = rateLimit({ limit: 9, window: '1m', by: 'everyone', shed: shed({ capacity: 1, reserved: 0 }) })
    assert.deepEqual([await fetchStatus(shedding), await fetchStatus(shedding)], [200, 503])
  },
  async 'every entry is imported and required'() {
    const require = createRequire(import.meta.url)
    await import('reflect-metadata')
    for (const name of ['sluice', 'sluice-client']) {
      const { exports } = JSON.parse(
        readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), 'utf8'),
      )
      const entries = Object.keys(exports).filter((each) => !each.endsWith('.json'))
      assert.ok(entries.length > 1)
      for (const entry of entries) {
        const path = name + entry.slice(1)
        const names = Object.keys(await import(path)).filter((each) => each !== 'default' && each !== 'module.exports')
        assert.ok(names.length > 0, path)
        const required = require(path)
        for (const each of names) assert.notEqual(required[each], undefined, `${each} of ${path}`)
      }
    }
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
    const { redis: redisAt } = await import('sluice/redis')
    const caller = String(Math.random())
    const limiter = rateLimit({
      ...PLAIN,
      redis: redisAt(redis),
      onStoreFailure: 'closed',
      timeoutMs: 60_000,
      by: () => caller,
    })
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

/** Returns the statuses of two answers. */
async function statusesOf(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${server.address().port}/`
  const statuses = [(await fetch(address)).status, (await fetch(address)).status]
  server.close()
  server.closeAllConnections?.()
  return statuses
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
