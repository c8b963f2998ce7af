import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { TestClock } from '../../http-door/gate.suite.ts'
import { testAdapter } from '../adapter.suite.ts'
import { fastifyAdapter } from './fastify-adapter.suite.ts'
import rateLimit, { type PlainOptions } from './index.ts'

testAdapter(fastifyAdapter)

let app: FastifyInstance

/** Makes an app with routes: / answers 200, /error 400, /hang never answers, /left says what is left. */
async function serve(...options: PlainOptions[]): Promise<FastifyInstance> {
  app = fastify({ forceCloseConnections: true, exposeHeadRoutes: true })
  for (const each of options) await app.register(rateLimit, each)
  app.get('/', async () => 'hello')
  app.get('/error', async (_, reply) => reply.code(400).send('wrong'))
  app.get('/left', async (request) => {
    const { limit, used, remaining, resetTime } = request.rateLimit
    return { limit, used, remaining, isDate: resetTime instanceof Date }
  })
  return app
}

const statuses = async (count: number, url = '/'): Promise<number[]> => {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await app.inject(url)).statusCode)
  return seen
}

describe('sluice/fastify', () => {
  afterEach(() => app.close())

  it('protects an app in one line, with the current and the legacy fields', async () => {
    await serve({ limit: 2, window: '1m' })
    const { statusCode, headers, body } = await app.inject('/')
    expect([statusCode, body]).toEqual([200, 'hello'])
    expect(headers['ratelimit-policy']).toBe('"2-in-1m";q=2;w=60')
    expect(headers.ratelimit).toMatch(/^"2-in-1m";r=1;t=\d+$/)
    expect([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual(['2', '1'])
    expect(await statuses(2)).toEqual([200, 429])
  })

  it('limits requests for routes that there are not', async () => {
    await serve({ limit: 1, window: '1m' })
    expect(await statuses(2, '/nowhere')).toEqual([404, 429])
  })

  it('refuses with the error as JSON, and with problem+json when asked for it', async () => {
    await serve({ limit: 0, window: '1m' })
    const { statusCode, headers, body } = await app.inject('/?secret=1')
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
      429,
      'application/json; charset=utf-8',
      'no-store',
    ])
    expect(JSON.parse(body).error).toMatchObject({ code: 'RATE_LIMITED', message: 'Requests are blocked for GET /.' })
    const problem = await app.inject({ url: '/', headers: { accept: 'application/problem+json' } })
    expect(problem.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(problem.json()['violated-policies']).toEqual(['0-in-1m'])
  })

  it('answers HEAD without a body', async () => {
    await serve({ limit: 0, window: '1m' })
    const { statusCode, body } = await app.inject({ url: '/', method: 'HEAD' })
    expect([statusCode, body]).toEqual([429, ''])
  })

  it('sends what a limit has for refused callers', async () => {
    await serve({ limit: 0, window: '1m', response: { status: 420, body: 'calm', headers: [['X-Plan', 'free']] } })
    const { statusCode, headers, body } = await app.inject('/')
    expect([statusCode, headers['x-plan'], body]).toEqual([420, 'free', 'calm'])
    expect(headers['content-type']).toMatch(/^text\/plain/)
  })

  it('leaves the answer to a handler, and its errors to the app', async () => {
    await serve({
      limit: 0,
      window: '1m',
      handler: (request, reply, { refusal }) => {
        if (request.url === '/broken') throw new Error('mine')
        return reply.code(refusal.status).send('mine')
      },
    })
    expect(await app.inject('/')).toMatchObject({ statusCode: 429, body: 'mine' })
    expect(await app.inject('/broken')).toMatchObject({ statusCode: 500 })
  })

  it('shows the request what remains', async () => {
    await serve({ limit: 3, window: '1m' })
    expect((await app.inject('/left')).json()).toEqual({ limit: 3, used: 1, remaining: 2, isDate: true })
  })

  it('lists the policies of several registrations, the tightest first', async () => {
    await serve({ limit: 1_000, window: '1h', name: 'wide' }, { limit: 5, window: '1m', name: 'narrow' })
    const { headers } = await app.inject('/')
    expect(parseList(String(headers.ratelimit)).map(([name]) => name)).toEqual(['narrow', 'wide'])
    expect(headers['x-ratelimit-limit']).toBe('5')
  })

  it('gives a route its own limit, named after it, or none', async () => {
    await serve({ limit: 100, window: '1m' })
    app.post('/login', { config: { rateLimit: { limit: 1, window: '1m' } } }, async () => 'in')
    app.get('/free', { config: { rateLimit: false } }, async () => 'free')
    const login = await app.inject({ url: '/login', method: 'POST' })
    expect(login.headers['ratelimit-policy']).toBe('"POST /login";q=1;w=60')
    expect((await app.inject({ url: '/login', method: 'POST' })).statusCode).toBe(429)
    expect((await app.inject('/free')).headers.ratelimit).toBeUndefined()
    expect((await app.inject('/')).headers['ratelimit-policy']).toBe('"100-in-1m";q=100;w=60')
  })

  it('counts the callers of a route, or of a hook, as it counts the app’s', async () => {
    const own = { limit: 1, window: '1m' } as const
    await serve({ limit: 100, window: '1m', identity: { trustedProxies: ['loopback'] } })
    app.get('/own', { config: { rateLimit: own } }, async () => 'own')
    app.get('/hooked', { preHandler: app.rateLimit({ ...own, name: 'hooked' }) }, async () => 'hooked')
    for (const url of ['/own', '/hooked']) {
      const from = async (client: string): Promise<number> =>
        (await app.inject({ url, headers: { 'x-forwarded-for': client } })).statusCode
      expect([await from('203.0.113.7'), await from('203.0.113.8'), await from('203.0.113.7')]).toEqual([200, 200, 429])
    }
  })

  it('gives the limit of a route the clock, the fields, the handler and the ear for errors of the app', async () => {
    const clock = new TestClock()
    const received: unknown[] = []
    await serve({
      limit: 100,
      window: '1m',
      clock,
      headers: { legacy: false },
      handler: (_request, reply) => reply.code(420).send('mine'),
      onError: (error) => void received.push(error),
    })
    const own = { limit: 1, window: '1m' } as const
    const broken = {
      ...own,
      cost: () => {
        throw new Error('broken')
      },
    }
    app.get('/own', { config: { rateLimit: own } }, async () => 'own')
    app.get('/broken', { config: { rateLimit: broken } }, async () => 'broken')
    const { headers } = await app.inject('/own')
    expect([headers.ratelimit, headers['x-ratelimit-limit']]).toEqual([expect.any(String), undefined])
    expect(await app.inject('/own')).toMatchObject({ statusCode: 420, body: 'mine' })
    clock.now += 120_000
    expect((await app.inject('/own')).statusCode).toBe(200)
    expect([(await app.inject('/broken')).statusCode, received]).toEqual([200, [new Error('broken')]])
  })

  it('has a separate hook for users that want one', async () => {
    await serve({ limit: 100, window: '1m' })
    const hook = app.rateLimit({ limit: 1, window: '1m', name: 'own' })
    app.get('/hooked', { preHandler: hook }, async () => 'hooked')
    expect(await statuses(2, '/hooked')).toEqual([200, 429])
  })

  it.each(['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const)('limits in %s', async (hook) => {
    await serve({ limit: 1, window: '1m', hook })
    expect(await statuses(2)).toEqual([200, 429])
  })

  it('gives back what failed requests took', async () => {
    await serve({ limit: 1, window: '1m', refund: 'failure' })
    expect(await statuses(3, '/error')).toEqual([400, 400, 400])
    expect(await statuses(2)).toEqual([200, 429])
  })

  it('releases places when the answer is sent, or when the handler ends for a client that left', async () => {
    await serve({ limit: 1, algorithm: 'concurrency' })
    const replies: FastifyReply[] = []
    app.get('/late', (_, reply) => {
      replies.push(reply)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const get = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/`)).status
    expect([await get(), await get()]).toEqual([200, 200])
    const client = httpRequest({ host: '127.0.0.1', port, path: '/late', agent: false })
    client.on('error', () => {})
    client.end()
    await until('the place is taken', () => replies.length === 1)
    expect(await get()).toBe(429)
    client.destroy()
    await until('the client has left', () => replies[0].raw.closed)
    expect(await get()).toBe(429)
    replies[0].send('late')
    await until('the place is free again', async () => (await get()) === 200)
  })

  it('never lets its own errors reach the app', async () => {
    const received: unknown[] = []
    await serve({
      limit: 1,
      window: '1m',
      cost: () => Promise.reject(new Error('broken')),
      onError: (error) => void received.push(error),
    })
    expect(await statuses(2)).toEqual([200, 429])
    expect(received).toEqual([new Error('broken'), new Error('broken')])
  })

  it('knows callers as every middleware does', async () => {
    await serve({
      limit: { free: 1, pro: 2 },
      window: '1m',
      identity: {
        user: (request: FastifyRequest) => String(request.headers['x-user']),
        tier: (request) => (request.headers['x-user'] === 'ada' ? 'pro' : 'free'),
      },
    })
    const as = async (user: string): Promise<number> =>
      (await app.inject({ url: '/', headers: { 'x-user': user } })).statusCode
    expect([await as('ada'), await as('ada'), await as('ada')]).toEqual([200, 200, 429])
    expect([await as('bob'), await as('bob')]).toEqual([200, 429])
  })

  it('follows rules', async () => {
    await serve({
      rules: {
        domain: 'api',
        descriptors: [{ key: 'path', value: '/', rate_limit: { unit: 'minute', requests_per_unit: 1 } }],
      },
    })
    expect(await statuses(2)).toEqual([200, 429])
    expect(await statuses(1, '/left')).toEqual([200])
  })

  it('says on every request what remains, without end where no limit applies', async () => {
    app = fastify()
    await app.register(rateLimit, { limit: 5, window: '1m', skip: (request) => request.url === '/skipped' })
    const said = (request: FastifyRequest): unknown => {
      const { limit, used, remaining } = request.rateLimit
      return [String(limit), used, String(remaining), request.rateLimit.resetTime instanceof Date]
    }
    app.get('/', async (request) => said(request))
    app.get('/skipped', async (request) => said(request))
    app.get('/free', { config: { rateLimit: false } }, async (request) => said(request))
    const get = async (url: string): Promise<unknown> => (await app.inject(url)).json()
    expect(await get('/')).toEqual(['5', 1, '4', true])
    for (const url of ['/skipped', '/free']) expect(await get(url)).toEqual(['Infinity', 0, 'Infinity', true])
  })

  it('refuses options of @fastify/rate-limit', async () => {
    app = fastify()
    await expect(app.register(rateLimit, { limit: 1, window: '1m', max: 5 } as PlainOptions)).rejects.toThrow(
      'OPTION_UNKNOWN: max: unknown option, write limit: 100',
    )
  })
})
