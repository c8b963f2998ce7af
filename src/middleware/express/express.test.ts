import type { Request, RequestHandler, Response } from 'express'
import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { testAdapter } from '../adapter.suite.ts'
import { expressAdapter } from './express-adapter.suite.ts'
import { type RunningApp, runApp } from './express-app.suite.ts'
import { type PlainOptions, rateLimit } from './index.ts'

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

describe('sluice/express', () => {
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
      'violated-policies': ['small %22plan%22'],
    })
    expect(parseList(headers.ratelimit)[0][0]).toBe('small %22plan%22')
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

  it('shows the request what remains', async () => {
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

  it('never lets its own errors reach the app', async () => {
    const received: unknown[] = []
    const get = await serve({
      limit: 1,
      window: '1m',
      cost: () => Promise.reject(new Error('broken')),
      onError: (error) => void received.push(error),
    })
    expect([(await get()).status, (await get()).status]).toEqual([200, 429])
    expect(received).toEqual([new Error('broken'), new Error('broken')])
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

  it('refuses options of express-rate-limit', () => {
    expect(() => rateLimit({ window: '1m', limit: 1, windowMs: 1_000 } as object as PlainOptions)).toThrow(
      "OPTION_UNKNOWN: windowMs: unknown option, write window: '60s'",
    )
  })

  it('trusts the proxies that it is configured to trust, whatever Express does', async () => {
    const get = await serve({ limit: 1, window: '1m', identity: { trustedProxies: ['loopback'] } })
    const from = async (chain: string): Promise<number> => (await get('/', { 'x-forwarded-for': chain })).status
    expect(await from('203.0.113.7')).toBe(200)
    // The leftmost is the client's to write; it does not help.
    expect([await from('198.51.100.1, 203.0.113.7'), await from('198.51.100.2, 203.0.113.7')]).toEqual([429, 429])
    expect(await from('203.0.113.8')).toBe(200)
  })
})
