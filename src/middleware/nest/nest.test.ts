import { type ArgumentsHost, Catch } from '@nestjs/common'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../tests/servers/until.mjs'
import { TestClock } from '../../http-door/gate.suite.ts'
import { testAdapter } from '../adapter.suite.ts'
import { RateLimit, RateLimitException, SkipRateLimit, SluiceGuard, SluiceModule, type SluiceOptions } from './index.ts'
import { nestAdapters } from './nest-adapter.suite.ts'
import { decorated, PLATFORMS, type RunningApp, runApp, type Setup } from './nest-app.suite.ts'

for (const adapter of nestAdapters) testAdapter(adapter)

let running: RunningApp | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

describe.each(PLATFORMS)('sluice/nest on %s', (_, platform) => {
  const serve = async (options: SluiceOptions, setup: Setup = {}): Promise<RunningApp> => {
    running = await runApp(platform, { imports: [SluiceModule.forRoot(options)], ...setup })
    return running
  }

  it('protects an app in one line, with the current and the legacy fields', async () => {
    const { get } = await serve({ limit: 1, window: '1m' })
    const { status, headers, body } = await get()
    expect([status, body]).toEqual([200, 'cats'])
    expect(headers['ratelimit-policy']).toBe('"1-in-1m";q=1;w=60')
    expect(headers.ratelimit).toMatch(/^"1-in-1m";r=0;t=\d+$/)
    expect(headers['x-ratelimit-limit']).toBe('1')
    const refused = await get()
    expect([refused.status, refused.headers['cache-control']]).toEqual([429, 'no-store'])
    expect(refused.headers['content-type']).toMatch(/^application\/json/)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.parse(refused.body).error).toMatchObject({ code: 'RATE_LIMITED', scope: 'ip:127.0.0.1' })
  })

  it('speaks problem+json to callers who ask for it', async () => {
    const { get } = await serve({ limit: 0, window: '1m' })
    const { headers, body } = await get('/', { accept: 'application/problem+json' })
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(JSON.parse(body)['violated-policies']).toEqual(['0-in-1m'])
  })

  it('sends a text that a limit has for refused callers as it is', async () => {
    const { get } = await serve({
      limit: 0,
      window: '1m',
      response: { status: 420, body: 'calm', headers: [['X-Plan', 'free']] },
    })
    const { status, headers, body } = await get()
    expect([status, headers['x-plan'], body]).toEqual([420, 'free', 'calm'])
    expect(headers['content-type']).toMatch(/^text\/plain/)
    expect(headers['ratelimit-policy']).toBe('"0-in-1m";q=0;w=60')
  })

  it('leaves the answer to a filter of the app', async () => {
    class Filter {
      catch(exception: RateLimitException, host: ArgumentsHost): void {
        const response = host.switchToHttp().getResponse()
        response.status(418).send({ left: exception.pass.decision.tightest?.verdict.remaining })
      }
    }
    Catch(RateLimitException)(Filter)
    const { get } = await serve(
      { limit: 0, window: '1m' },
      { prepare: (app) => void app.useGlobalFilters(new Filter()) },
    )
    expect(await get()).toMatchObject({ status: 418, body: '{"left":0}' })
  })

  it('gives handlers their own limits, named after them, or none', async () => {
    const { get, statuses } = await serve(
      { limit: 100, window: '1m' },
      {
        decorate: (controller) => {
          decorated(controller, 'own', RateLimit({ limit: 1, window: '1m' }))
          decorated(controller, 'free', SkipRateLimit())
        },
      },
    )
    expect((await get('/own')).headers['ratelimit-policy']).toBe('"Cats.own";q=1;w=60')
    expect(await statuses(1, '/own')).toEqual([429])
    expect((await get('/free')).headers.ratelimit).toBeUndefined()
    expect((await get()).headers['x-ratelimit-remaining']).toBe('99')
  })

  it('counts the callers of a handler as it counts the app’s', async () => {
    const { get } = await serve(
      { limit: 100, window: '1m', identity: { trustedProxies: ['loopback'] } },
      { decorate: (controller) => decorated(controller, 'own', RateLimit({ limit: 1, window: '1m' })) },
    )
    const from = async (client: string): Promise<number> => (await get('/own', { 'x-forwarded-for': client })).status
    expect([await from('203.0.113.7'), await from('203.0.113.8'), await from('203.0.113.7')]).toEqual([200, 200, 429])
  })

  it('gives the limit of a handler the clock, the fields and the ear for errors of the app', async () => {
    const clock = new TestClock()
    const received: unknown[] = []
    const broken = (): never => {
      throw new Error('broken')
    }
    const { get, statuses } = await serve(
      { limit: 100, window: '1m', clock, headers: { legacy: false }, onError: (error) => void received.push(error) },
      {
        decorate: (controller) => {
          decorated(controller, 'own', RateLimit({ limit: 1, window: '1m' }))
          decorated(controller, 'free', RateLimit({ limit: 1, window: '1m', cost: broken }))
        },
      },
    )
    const { headers } = await get('/own')
    expect([headers.ratelimit, headers['x-ratelimit-limit']]).toEqual([expect.any(String), undefined])
    expect(await statuses(1, '/own')).toEqual([429])
    clock.now += 120_000
    expect(await statuses(1, '/own')).toEqual([200])
    expect([await statuses(1, '/free'), received]).toEqual([[200], [new Error('broken')]])
  })

  it('gives a controller a limit that its handlers share', async () => {
    const decorate = RateLimit({ limit: 2, window: '1m' })
    const { get, statuses } = await serve(
      { limit: 100, window: '1m' },
      { decorate: (controller) => void decorate(controller) },
    )
    expect((await get()).headers['ratelimit-policy']).toBe('"Cats";q=2;w=60')
    expect(await statuses(2, '/left')).toEqual([200, 429])
  })

  it('shows the request what remains', async () => {
    const { get } = await serve({ limit: 3, window: '1m' })
    expect((await get('/left')).body).toBe('{"remaining":2}')
  })

  it('gives back what failed requests took', async () => {
    const { get, statuses } = await serve({ limit: 1, window: '1m', refund: 'failure' })
    expect((await get('/error')).status).toBe(400)
    await until('the hit is given back', async () => (await get('/left')).status === 200)
    expect(await statuses(1)).toEqual([429])
  })

  it('releases places when the answer is sent, not when the client leaves', async () => {
    const { get, visit, hanging } = await serve({ limit: 1, algorithm: 'concurrency' })
    expect((await get()).status).toBe(200)
    await until('the place is free again', async () => (await get()).status === 200)
    const client = visit('/hang')
    await until('the place is taken', () => hanging() === 1)
    expect((await get()).status).toBe(429)
    client.leave()
    expect((await get()).status).toBe(429)
  })

  it('never lets its own errors reach the app', async () => {
    const received: unknown[] = []
    const { statuses } = await serve({
      limit: 1,
      window: '1m',
      cost: () => Promise.reject(new Error('broken')),
      onError: (error) => void received.push(error),
    })
    expect(await statuses(2)).toEqual([200, 429])
    expect(received).toHaveLength(2)
  })

  it('takes options from a factory, and forgets a caller', async () => {
    const module = SluiceModule.forRootAsync({ useFactory: async () => ({ limit: 1, window: '1m' }) })
    running = await runApp(platform, { imports: [module] })
    expect(await running.statuses(2)).toEqual([200, 429])
    await running.app.get(SluiceGuard).reset({ ip: '127.0.0.1' })
    expect(await running.statuses(1)).toEqual([200])
  })
})

describe('SluiceModule', () => {
  it('says what is wrong with its options when the app starts', async () => {
    const module = SluiceModule.forRoot({ limit: -1, window: '1m' })
    await expect(runApp(PLATFORMS[0][1], { imports: [module] })).rejects.toThrow('LIMIT_INVALID')
  })
})
