import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import express, { type Router } from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { rateLimit as expressLimit } from '../../src/middleware/express/index.ts'
import fastifyLimit from '../../src/middleware/fastify/index.ts'
import { rateLimit as fetchLimit } from '../../src/middleware/fetch/index.ts'
import { rateLimit as honoLimit } from '../../src/middleware/hono/index.ts'
import { PATH_SPELLINGS } from '../fixtures/path-spellings.ts'
import { APPS, type AttackOptions, type Reached, type Target, targetOf } from './middleware-apps.suite.ts'

const HOURLY = { unit: 'hour', requests_per_unit: 1 } as const

/** Lets one request an hour pass whose path matches, or one for each path. */
const once = (value?: string): AttackOptions => ({
  rules: { domain: 'app', descriptors: [{ key: 'path', ...(value && { value }), rate_limit: HOURLY }] },
})

/** What may be taken for /login by one router or another, in paths and in whole targets. */
const LOGINS = [
  ...PATH_SPELLINGS.map(({ sent }) => sent),
  '/login?a#f',
  'http://x/login',
  'HTTP://X:8080/login?a',
  'http://x?a/login',
  'http://x\\login',
  'http://[/login',
  '/Login/?a',
  '///login//',
]

/** The same user, where a router reads it so. */
const USERS = [
  '/users/42',
  '/users/%34%32',
  '/users/42#f',
  '/users/42?a',
  'http://x/users/42',
  'http://x?a/users/42',
  '/Users/42',
  '/users/42/',
  '/%75sers/42',
  '/%2fusers/42',
  '/users%2f42',
  '/x/..%2fusers/42',
  '/users/./42',
]

/** Other users, where a router takes dots and slashes for a part of what a caller chose. */
const BELOW_USERS = [
  '/users/2',
  '/users/..',
  '/users/.',
  '/users/%2e%2e',
  '/users/..%2flogin',
  '/users/..%2f..%2fa',
  '/users/%2fa',
  '/users/..\\login',
  '/users/..%5clogin',
  '/x/../users/..%2flogin',
  '/users/..;x',
  '/Users/..%2fa',
]

let running: Target | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

describe.each(APPS)('a rule about a path, in an app on $name', (app) => {
  const reached: Reached = []
  const start = async (options: AttackOptions): Promise<Target['send']> => {
    reached.length = 0
    running = await app.start(options, reached)
    return running.send
  }

  it.each([
    ['/login', LOGINS],
    ['/users/42', USERS],
  ])('%s holds for every form that reaches its handler', async (path, spellings) => {
    const send = await start(once(path))
    expect(await send(path)).toBe(200)
    for (const spelling of spellings) {
      for (const method of ['GET', 'HEAD']) {
        await send(spelling, {}, method)
        expect([method, spelling, reached.length]).toEqual([method, spelling, 1])
      }
    }
    expect(await send(path)).toBe(429)
  })

  it('for everything below a path holds where a router takes dots and slashes as they are', async () => {
    const rule = { key: 'path', value: '/users/*', share_threshold: true, rate_limit: HOURLY }
    const send = await start({ rules: { domain: 'app', descriptors: [rule] } } as never)
    expect(await send('/users/1')).toBe(200)
    for (const path of BELOW_USERS) {
      await send(path)
      expect([path, reached.filter((handler) => handler === 'user').length]).toEqual([path, 1])
    }
  })

  it('counts a path that can be read in several ways once', async () => {
    const rule = {
      key: 'path',
      value: '/users/*',
      share_threshold: true,
      rate_limit: { unit: 'hour', requests_per_unit: 2 },
    }
    const send = await start({ rules: { domain: 'app', descriptors: [rule] } } as never)
    expect([await send('/users/a%2Fb'), await send('/users/a%2Fc'), await send('/users/1')]).toEqual([200, 200, 429])
    expect(await send('/login')).toBe(200)
  })

  it('holds for every form where each path has a separate budget', async () => {
    const send = await start(once())
    for (const spelling of LOGINS) await send(spelling)
    expect(reached).toEqual(['login'])
  })

  it('leaves other paths alone', async () => {
    const send = await start(once('/login'))
    await send('/login')
    expect([await send('/Report'), await send('/users/1'), await send('/users/1')]).toEqual([200, 200, 200])
  })

  it.each(['/Report', '/%52eport', '/./Report'])('may itself be written in many forms: %s', async (path) => {
    const send = await start(once(path))
    expect([await send('/Report'), await send('/Report')]).toEqual([200, 429])
    await send('/report')
    expect(reached).toEqual(['report'])
  })

  it('may have capitals before a star', async () => {
    const send = await start(once('/Rep*'))
    expect([await send('/Report'), await send('/Report')]).toEqual([200, 429])
  })

  it('counts HEAD as GET', async () => {
    const rules = { domain: 'app', descriptors: [{ key: 'method', value: 'GET', rate_limit: HOURLY }] }
    const send = await start({ rules })
    expect([await send('/login'), await send('/login', {}, 'HEAD')]).toEqual([200, 429])
  })
})

describe('handlers whose paths differ in case or slashes alone, where a router distinguishes them', () => {
  const PATHS = ['/login', '/Login', '/login/']
  const ask = async (): Promise<number[]> => {
    const statuses: number[] = []
    for (const path of PATHS) statuses.push((await running?.send(path)) ?? 0)
    return statuses
  }
  const expectApart = async (): Promise<void> => {
    expect(await ask()).toEqual([200, 200, 200])
    expect(await ask()).toEqual([429, 429, 429])
  }

  it('are counted apart on Express', async () => {
    const app = express().enable('case sensitive routing').enable('strict routing')
    app.use(expressLimit(once() as never))
    for (const path of PATHS) app.get(path, (_, response) => void response.send('ok'))
    running = await targetOf(createServer(app))
    await expectApart()
  })

  it('are counted apart on Fastify', async () => {
    const app = fastify()
    await app.register(fastifyLimit, once() as never)
    for (const path of PATHS) app.get(path, async () => 'ok')
    await app.ready()
    running = await targetOf(app.server, () => app.close())
    await expectApart()
  })

  it('are counted apart on Hono', async () => {
    const app = new Hono()
    app.use(honoLimit(once() as never))
    for (const path of PATHS) app.get(path, (c) => c.text('ok'))
    const send = async (path: string): Promise<number> => (await app.request(path)).status
    running = { send, close: async () => {} }
    await expectApart()
  })

  it('are counted apart where the options say so', async () => {
    const options = { ...once(), routing: { caseSensitive: true, strict: true } }
    const handler = fetchLimit(options as never).protect(() => new Response('ok'))
    const send = async (path: string): Promise<number> => (await handler(new Request(`http://x${path}`))).status
    running = { send, close: async () => {} }
    await expectApart()
  })
})

describe('a rule about a path on Express', () => {
  let reached = 0
  const handler: express.RequestHandler = (_, response) => {
    reached++
    response.send('ok')
  }
  const serve = async (app: express.Express): Promise<Target['send']> => {
    reached = 0
    running = await targetOf(createServer(app))
    return running.send
  }
  const loose = (): Router => express.Router().get('/login', handler)
  const KINDS_BY_NAME = ['/api/login', '/api/Login', '/API/login', '/api/login/', '/api/login#f', 'http://x/api/login/']

  it.each<[string, (limiter: express.RequestHandler) => express.Express]>([
    ['before a mounted router', (limiter) => express().use(limiter).use('/api', loose())],
    ['mounted with it', (limiter) => express().use('/api', limiter, loose())],
    ['mounted at the path itself', (limiter) => express().use('/api/login', limiter, handler)],
    ['inside of a router', (limiter) => express().use('/api', express.Router().use(limiter).get('/login', handler))],
    ['on the route', (limiter) => express().get('/api/login', limiter, handler)],
    ['on a route of a router', (limiter) => express().use('/api', express.Router().get('/login', limiter, handler))],
    ['before a mounted app', (limiter) => express().use(limiter).use('/api', express().get('/login', handler))],
    ['inside of a mounted app', (limiter) => express().use('/api', express().use(limiter).get('/login', handler))],
    [
      'before a loose router in a strict app',
      (limiter) =>
        express().enable('case sensitive routing').enable('strict routing').use(limiter).use('/api', loose()),
    ],
    [
      'before a loose app in a strict app',
      (limiter) =>
        express()
          .enable('case sensitive routing')
          .enable('strict routing')
          .use(limiter)
          .use('/api', express().get('/login', handler)),
    ],
    [
      'in a strict app in a loose app',
      (limiter) => {
        const inner = express().enable('case sensitive routing').enable('strict routing')
        return express().use('/api', inner.use(limiter).use(loose()))
      },
    ],
    [
      'behind a middleware that rewrites',
      (limiter) =>
        express()
          .use((request, _, next) => {
            request.url = request.url.replace('/old', '/api')
            next()
          })
          .use(limiter)
          .use('/api', loose()),
    ],
  ])('holds %s', async (_, make) => {
    const send = await serve(make(expressLimit(once('/api/login') as never)))
    for (const path of [...KINDS_BY_NAME, '/old/login']) await send(path)
    expect(reached).toBe(1)
  })
})

describe('a rule about files on Express', () => {
  it.each(['/rls%2fexchanges.json', '/rls//exchanges.json', '/RLS/../rls/exchanges.json', '/rls/%65xchanges.json'])(
    'holds for %s',
    async (path) => {
      const rule = { key: 'path', value: '/rls/*', share_threshold: true, rate_limit: HOURLY }
      const app = express().use(expressLimit({ rules: { domain: 'app', descriptors: [rule] } } as never))
      app.use(express.static(fileURLToPath(new URL('../fixtures', import.meta.url))))
      running = await targetOf(createServer(app))
      expect([await running.send('/rls/exchanges.json'), await running.send(path)]).toEqual([200, 429])
    },
  )
})

describe('a rule about a path on Fastify', () => {
  it('holds for the root of a prefix, with and without a slash', async () => {
    const app = fastify()
    let reached = 0
    await app.register(fastifyLimit, once('/login') as never)
    const inner = (scope: FastifyInstance, _: object, done: () => void): void => {
      scope.get('/', async () => String(reached++))
      done()
    }
    await app.register(inner, { prefix: '/login' })
    await app.ready()
    running = await targetOf(app.server, () => app.close())
    expect([await running.send('/login'), await running.send('/login/'), reached]).toEqual([200, 429, 1])
  })

  it('holds for what an app rewrites', async () => {
    const app = fastify({ rewriteUrl: ({ url = '' }) => url.replace('/old', '') })
    await app.register(fastifyLimit, once('/users/42') as never)
    app.get('/users/:id', async () => 'ok')
    await app.ready()
    running = await targetOf(app.server, () => app.close())
    expect([await running.send('/users/42'), await running.send('/old/users/42')]).toEqual([200, 429])
  })
})
