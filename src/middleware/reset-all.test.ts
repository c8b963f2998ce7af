import { Reflector } from '@nestjs/core'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rateLimit as expressHits, type RateLimitRequestHandler } from '../compat/express-rate-limit/index.ts'
import { rateLimiter as honoHits } from '../compat/hono-rate-limiter/index.ts'
import { rateLimit as koaHits } from '../compat/koa-ratelimit/index.ts'
import { createLimiter } from '../library/create-limiter.ts'
import { rateLimit as libraryLimit } from '../library/rate-limit.ts'
import { runApp } from './express/express-app.suite.ts'
import { rateLimit as expressLimit, type GateRequestHandler } from './express/index.ts'
import { rateLimit as fetchLimit } from './fetch/index.ts'
import { rateLimit as honoLimit } from './hono/index.ts'
import { rateLimit as koaLimit } from './koa/index.ts'
import { koaApp, serveKoa } from './koa/koa-app.suite.ts'
import { SluiceGuard } from './nest/index.ts'

interface Door {
  /** Says whether a request passes. */
  hit(): Promise<boolean> | boolean
  resetAll(): Promise<void> | void
}

const PLAIN = { limit: 1, window: '1m' }

const served = async (limit: GateRequestHandler | RateLimitRequestHandler): Promise<Door> => {
  const app = await runApp(limit)
  onTestFinished(() => app.close())
  return { hit: async () => (await app.get()).status === 200, resetAll: limit.resetAll }
}
const onHono = (limit: ReturnType<typeof honoLimit | typeof honoHits>): Door => {
  const app = new Hono().use(limit).get('/', (c) => c.text(''))
  return { hit: async () => (await app.request('/')).status === 200, resetAll: limit.resetAll }
}
const onKoa = async (limit: ReturnType<typeof koaLimit | typeof koaHits>): Promise<Door> => {
  const client = await serveKoa(koaApp([limit]))
  onTestFinished(() => client.close())
  return { hit: async () => (await client.get()).status === 200, resetAll: limit.resetAll }
}

describe.each<[string, () => Promise<Door> | Door]>([
  [
    'rateLimit',
    () => {
      const limiter = libraryLimit(PLAIN)
      return { hit: () => limiter.check('a').allowed, resetAll: () => limiter.resetAll() }
    },
  ],
  [
    'createLimiter',
    () => {
      const rules = { domain: 'a', descriptors: [{ key: 'k', rate_limit: { unit: 'minute', requests_per_unit: 1 } }] }
      const limiter = createLimiter({ rules })
      const request = { domain: 'a', descriptors: [{ entries: [{ key: 'k', value: '1' }] }] }
      return { hit: () => limiter.check(request).allowed, resetAll: () => limiter.resetAll() }
    },
  ],
  ['sluice/express', () => served(expressLimit({ ...PLAIN }))],
  ['express-rate-limit', () => served(expressHits({ limit: 1, windowMs: 60_000 }))],
  ['sluice/hono', () => onHono(honoLimit({ ...PLAIN }))],
  ['hono-rate-limiter', () => onHono(honoHits({ limit: 1, windowMs: 60_000 }))],
  ['sluice/koa', () => onKoa(koaLimit({ ...PLAIN }))],
  ['koa-ratelimit', () => onKoa(koaHits({ max: 1 }))],
  [
    'sluice/fetch',
    () => {
      const limiter = fetchLimit(PLAIN)
      const hit = async () => (await limiter.check(new Request('http://localhost/'))).allowed
      return { hit, resetAll: () => limiter.resetAll() }
    },
  ],
  [
    'sluice/nest',
    () => {
      const guard = new SluiceGuard(PLAIN, new Reflector())
      const headers = new Map<string, string>()
      const req = { headers: {}, method: 'GET', url: '/', socket: {} }
      const res = { setHeader: headers.set.bind(headers), getHeader: headers.get.bind(headers), headersSent: false }
      const context = {
        getType: () => 'http',
        switchToHttp: () => ({ getRequest: () => req, getResponse: () => res }),
        getHandler: () => onHono,
        getClass: () => SluiceGuard,
      }
      const hit = async () => {
        try {
          return await guard.canActivate(context as never)
        } catch {
          return false
        }
      }
      return { hit, resetAll: () => guard.resetAll() }
    },
  ],
])('resetAll of %s', (_name, make) => {
  it('gives everybody the whole budget again', async () => {
    const { hit, resetAll } = await make()
    expect([await hit(), await hit()]).toEqual([true, false])
    await resetAll()
    expect([await hit(), await hit()]).toEqual([true, false])
  })
})

describe('resetAll', () => {
  it('leaves permits that were taken before to what they were taken of', () => {
    const limiter = libraryLimit({ limit: 1, algorithm: 'concurrency' })
    const before = limiter.acquire('a')
    limiter.resetAll()
    expect(limiter.acquire('a').allowed).toBe(true)
    before.release()
    expect(limiter.acquire('a').allowed).toBe(false)
  })

  it('is refused where counters are shared', async () => {
    const redis = 'redis://127.0.0.1:1'
    const limits = [libraryLimit({ ...PLAIN, redis, log: () => {} }), expressLimit({ ...PLAIN, redis, log: () => {} })]
    for (const limit of limits) {
      await expect(limit.resetAll()).rejects.toThrow('RESET_ALL_NOT_APPLICABLE')
      await limit.close()
    }
  })
})
