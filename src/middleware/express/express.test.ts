import type { Request, RequestHandler, Response } from 'express'
import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { testAdapter } from '../adapter.suite.ts'
import { expressAdapter } from './express-adapter.suite.ts'
import { type RunningApp, runApp } from './express-app.suite.ts'
import { type HitOptions, type PlainOptions, rateLimit, SluiceStore } from './index.ts'

testAdapter(expressAdapter)

let running: RunningApp | undefined

afterEach(async () => {
  vi.restoreAllMocks()
  await running?.close()
  running = undefined
})

const serve = async (...options: (PlainOptions | RequestHandler)[]): Promise<RunningApp['get']> => {
  running = await runApp(...options.map((each) => (typeof each === 'function' ? each : rateLimit(each))))
  return running.get
}

describe('sluice/express with the plain options', () => {
  it('protects an app in one line, with the current and the legacy fields', async () => {
    const get = await serve({ limit: 2, window: '1m' })
    const { status, headers, body } = await get()
    expect([status, body]).toEqual([200, 'Hi there!'])
    expect(headers['ratelimit-policy']).toBe('"2-in-1m";q=2;w=60')
    expect(headers.ratelimit).toMatch(/^"2-in-1m";r=1;t=\d+$/)
    expect([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual(['2', '1'])
    expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000 - 1)
    expect(headers['retry-after']).toBeUndefined()
  })

  it('refuses with 429, Retry-After, no caching, and the error as JSON', async () => {
    const get = await serve({ limit: 0, window: '1m' }, () => expect.unreachable())
    const { status, headers, body } = await get('/?secret=1')
    expect(status).toBe(429)
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['content-type']).toBe('application/json')
    expect(JSON.parse(body).error).toMatchObject({ code: 'RATE_LIMITED', message: 'Requests are blocked for GET /.' })
  })

  it('speaks problem+json to callers who ask for it', async () => {
    const get = await serve({ limit: 1, window: '1m', name: 'small "plan"' })
    await get()
    const { headers, body } = await get('/', { accept: 'application/problem+json, application/json;q=0.9' })
    expect(headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      'violated-policies': ['small "plan"'],
    })
    expect(parseList(headers.ratelimit)[0][0]).toBe('small "plan"')
  })

  it('answers HEAD without a body, and says how long one would be', async () => {
    const get = await serve({ limit: 0, window: '1m' })
    const { status, headers, body } = await get('/', {}, 'HEAD')
    expect([status, body]).toEqual([429, ''])
    expect(Number(headers['content-length'])).toBeGreaterThan(0)
  })

  it('sends what a limit has for refused callers, with the rate limit fields', async () => {
    const response = {
      status: 420,
      body: 'calm',
      headers: [
        ['X-Plan', 'free'],
        ['Retry-After', '0'],
      ],
    } as const
    const get = await serve({ limit: 1, window: '1m', response })
    await get()
    const { status, headers, body } = await get()
    expect([status, body, headers['x-plan'], headers['content-type']]).toEqual([
      420,
      'calm',
      'free',
      'text/plain; charset=utf-8',
    ])
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  })

  it('leaves the answer to a handler', async () => {
    const get = await serve({
      limit: 0,
      window: '1m',
      handler: (_request, response, _next, { refusal }) => void response.status(refusal.status).send('mine'),
    })
    expect(await get()).toMatchObject({ status: 429, body: 'mine' })
  })

  it('hands an error of a handler to the app, sooner or later', async () => {
    const get = await serve({ limit: 0, window: '1m', handler: () => Promise.reject(new Error('mine')) })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    expect((await get()).status).toBe(500)
  })

  it('tells the request what is left', async () => {
    const seen: unknown[] = []
    const get = await serve({ limit: 3, window: '1m' }, (request, _response, next) => {
      const { limit, used, remaining, resetTime } = (request as Request & { rateLimit: Record<string, unknown> })
        .rateLimit
      seen.push({ limit, used, remaining, resetTime })
      next()
    })
    await get()
    expect(seen).toEqual([{ limit: 3, used: 1, remaining: 2, resetTime: expect.any(Date) }])
  })

  it('lists the policies of several middlewares, the tightest first', async () => {
    const wide = { limit: 1_000, window: '1h', name: 'wide' } as const
    const narrow = { limit: 5, window: '1m', name: 'narrow' } as const
    for (const order of [
      [wide, narrow],
      [narrow, wide],
    ]) {
      const get = await serve(...order)
      const { headers } = await get()
      expect(parseList(headers.ratelimit).map(([name]) => name)).toEqual(['narrow', 'wide'])
      expect(parseList(headers['ratelimit-policy']).map(([name]) => name)).toEqual(['narrow', 'wide'])
      expect(headers['x-ratelimit-limit']).toBe('5')
      await running?.close()
    }
    running = undefined
  })

  it('releases places when the answer is sent, or when the handler ends it for a client that left', async () => {
    const get = await serve({ limit: 1, algorithm: 'concurrency' })
    expect([(await get()).status, (await get()).status]).toEqual([200, 200])
    const responses: Response[] = []
    running?.app.get('/late', (_, response) => void responses.push(response))
    const client = running?.visit('/late')
    await until('the place is taken', () => responses.length === 1)
    expect((await get()).status).toBe(429)
    client?.leave()
    await until('the client has left', () => responses[0].closed)
    expect((await get()).status).toBe(429)
    responses[0].send('late')
    expect((await get()).status).toBe(200)
  })

  it('gives back what failed requests took', async () => {
    const get = await serve({ limit: 1, window: '1m', refund: 'failure' })
    expect([(await get('/error')).status, (await get('/error')).status]).toEqual([400, 400])
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
  })

  it('keeps the hit of a client that leaves, and takes back that of an answer that breaks, if told so', async () => {
    const limiter = rateLimit({
      limit: 5,
      keyGenerator: () => 'k',
      skipFailedRequests: true,
      skipAbortedRequests: false,
    })
    const get = await serve(limiter)
    const hits = (): number | undefined => (limiter.getKey('k') as { totalHits: number } | undefined)?.totalHits
    const responses: Response[] = []
    running?.app.get('/late', (_, response) => void responses.push(response))
    const client = running?.visit('/late')
    await until('the request is counted', () => responses.length === 1)
    client?.leave()
    await until('the client has left', () => responses[0].closed)
    responses[0].on('error', () => {})
    responses[0].emit('error', new Error('written to nobody'))
    responses[0].status(500).end()
    await get('/crash').catch(() => {})
    await until('the hit of the answer is taken back', () => hits() === 1)
    await get('/error')
    expect(hits()).toBe(1)
  })

  it('never lets its own errors reach the app', async () => {
    const told: unknown[] = []
    const get = await serve({
      limit: 1,
      window: '1m',
      cost: () => Promise.reject(new Error('broken')),
      onError: (error) => void told.push(error),
    })
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    expect(told).toEqual([new Error('broken'), new Error('broken')])
  })

  it('forgets a caller', async () => {
    const limiter = rateLimit({ limit: 1, window: '1m' })
    const get = await serve(limiter)
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    await limiter.reset({ ip: '127.0.0.1' })
    expect((await get()).status).toBe(200)
  })

  it('warns once where Express trusts every proxy, or none although there are some', async () => {
    const warnings: string[] = []
    vi.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)))
    const proxied = { 'x-forwarded-for': '203.0.113.7' }
    for (const trust of [true, false]) {
      const get = await serve({ limit: 9, window: '1m' })
      running?.app.set('trust proxy', trust)
      await get('/', proxied)
      await get('/', proxied)
      await running?.close()
    }
    const silent = await serve({ limit: 9, window: '1m', identity: { trustedProxies: 1 } })
    await silent('/', proxied)
    expect(warnings).toEqual([
      expect.stringContaining("'trust proxy' is true: every client can choose its own address"),
      expect.stringContaining("'trust proxy' is false: all clients of a proxy are counted as one"),
    ])
  })

  it('refuses a mixture of both kinds of options', () => {
    expect(() => rateLimit({ window: '1m', limit: 1, windowMs: 1_000 } as object as PlainOptions)).toThrow(
      'GATE_OPTIONS_INVALID: windowMs: it does not go with window: one is of express-rate-limit',
    )
  })

  it('trusts the proxies that it is told to trust, whatever Express does', async () => {
    const get = await serve({ limit: 1, window: '1m', identity: { trustedProxies: ['loopback'] } })
    const from = async (chain: string): Promise<number> => (await get('/', { 'x-forwarded-for': chain })).status
    expect(await from('203.0.113.7')).toBe(200)
    // The leftmost is the client's to write; it does not help.
    expect([await from('198.51.100.1, 203.0.113.7'), await from('198.51.100.2, 203.0.113.7')]).toEqual([429, 429])
    expect(await from('203.0.113.8')).toBe(200)
  })
})

describe('sluice/express with the options of express-rate-limit, beyond what that does', () => {
  const serveHits = async (...options: HitOptions[]): Promise<RunningApp['get']> => {
    running = await runApp(...options.map((each) => rateLimit(each)))
    return running.get
  }

  it('sends the current fields beside the legacy ones where no option says anything about fields', async () => {
    const get = await serveHits({ windowMs: 900_000, limit: 100 })
    const { headers } = await get()
    expect(headers).toMatchObject({
      'ratelimit-policy': '"100-in-15min";q=100;w=900',
      ratelimit: '"100-in-15min";r=99;t=900',
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '99',
    })
  })

  it('sends the current fields alone when told so, under the name that is wanted, which cannot break out', async () => {
    const get = await serveHits({ standardHeaders: 'current', legacyHeaders: false, identifier: 'a"\r\nSet-Cookie: b' })
    const { headers } = await get()
    expect(headers.ratelimit).toBe('"a\\"??Set-Cookie: b";r=4;t=60')
    expect(headers['set-cookie']).toBeUndefined()
    expect(headers['x-ratelimit-limit']).toBeUndefined()
  })

  it('lists the policies of several limiters, the tightest first', async () => {
    const get = await serveHits({ windowMs: 86_400_000, limit: 1_000 }, { limit: 5 })
    const { headers } = await get()
    expect(parseList(headers.ratelimit).map(([name]) => name)).toEqual(['5-in-1min', '1000-in-1day'])
    expect(headers['x-ratelimit-limit']).toBe('5')
  })

  it('speaks problem+json to callers who ask for it, unless the app has words of its own', async () => {
    const accept = { accept: 'application/problem+json' }
    const get = await serveHits({ limit: 0, validate: false })
    const { status, headers, body } = await get('/', accept)
    expect([status, headers['content-type']]).toEqual([429, 'application/problem+json'])
    expect(JSON.parse(body)).toMatchObject({
      status: 429,
      detail: 'Rate limit exceeded for GET /. Retry after 60 seconds.',
      'violated-policies': ['0-in-1min'],
    })
    await running?.close()
    const other = await serveHits({ limit: 0, validate: false, message: 'mine' })
    expect((await other('/', accept)).body).toBe('mine')
  })

  /** A store that answers when the test says so. */
  const slowStore = (resetTime: Date | undefined) => {
    const calls: string[] = []
    let answer = (): void => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const increment = async () => {
      calls.push('+')
      await answered
      return { totalHits: 1, resetTime }
    }
    return { calls, answer, store: { increment, decrement: () => void calls.push('-'), resetKey: () => {} } }
  }

  it('takes nothing back from the next window', async () => {
    const { calls, answer, store } = slowStore(new Date(Date.now() - 1))
    answer()
    const get = await serveHits({ store, skipFailedRequests: true })
    expect([(await get('/error')).status, calls]).toEqual([400, ['+']])
  })

  it('takes back the hit of a client that left while the store was asked', async () => {
    const { calls, answer, store } = slowStore(undefined)
    let hasLeft = false
    const look: RequestHandler = (_request, response, next) => {
      response.once('close', () => {
        hasLeft = true
      })
      next()
    }
    running = await runApp(look, rateLimit({ store, skipFailedRequests: true }))
    const client = running.visit('/hang')
    await until('the store is asked', () => calls.length === 1)
    client.leave()
    await until('the client has left', () => hasLeft)
    answer()
    await until('the hit is taken back', () => calls.length === 2)
    expect(calls).toEqual(['+', '-'])
  })

  it.each([
    ['a number', 1],
    ['a function', () => 1],
  ])('forgets nobody who is being refused for a flood of new keys, where the limit is %s', async (_, limit) => {
    const store = new SluiceStore({ maxKeys: 1_000 })
    const get = await serveHits({ limit, store, keyGenerator: () => 'attacker' })
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    for (let i = 0; i < 10_000; i++) await store.increment(`new ${i}`)
    expect((await get()).status).toBe(429)
  })
})
