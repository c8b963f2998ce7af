import { APP_GUARD } from '@nestjs/core'
import { SkipThrottle, Throttle, ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler'
import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { decorated, PLATFORMS, type RunningApp, runApp, type Setup } from '../../middleware/nest/nest-app.suite.ts'
import { SluiceStorage, SluiceThrottlerGuard } from './index.ts'

let running: RunningApp | undefined

afterEach(async () => {
  await running?.close()
  running = undefined
})

describe.each(PLATFORMS)('sluice/nest for @nestjs/throttler on %s', (_, platform) => {
  const serve = async (options: ThrottlerModuleOptions, setup: Setup = {}): Promise<RunningApp> => {
    const imports = [ThrottlerModule.forRoot(options)]
    const providers = [{ provide: APP_GUARD, useClass: SluiceThrottlerGuard }]
    running = await runApp(platform, { imports, providers, ...setup })
    return running
  }
  const minute = (limit: number, name?: string) => ({ limit, ttl: 60_000, ...(name && { name }) })

  it('keeps its fields and its words, and adds the current fields', async () => {
    const { get } = await serve({ throttlers: [minute(1)], storage: new SluiceStorage() })
    const { headers } = await get()
    expect(headers).toMatchObject({
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '60',
      'ratelimit-policy': '"default";q=1;w=60',
      ratelimit: '"default";r=0;t=60',
    })
    const refused = await get()
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60'])
    expect(JSON.parse(refused.body)).toMatchObject({
      statusCode: 429,
      message: 'ThrottlerException: Too Many Requests',
    })
  })

  /** What the guard of 6.5 lacks. */
  class GuardOf65 extends SluiceThrottlerGuard {
    override async onModuleInit(): Promise<void> {
      for (const name of ['setResponseHeader', 'logger']) Object.defineProperty(this, name, { value: undefined })
      await super.onModuleInit()
    }
  }

  it('works with versions of @nestjs/throttler whose guard has fewer methods', async () => {
    const providers = [{ provide: APP_GUARD, useClass: GuardOf65 }]
    const { get } = await serve({ throttlers: [minute(1)], storage: new SluiceStorage() }, { providers })
    expect(await get()).toMatchObject({ status: 200, headers: { 'x-ratelimit-limit': '1', 'x-ratelimit-reset': '60' } })
    expect(await get()).toMatchObject({ status: 429, headers: { 'retry-after': '60' } })
  })

  it('lets requests pass when the storage fails, with those versions too', async () => {
    const failure = new Error('the storage is broken')
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const storage = { increment: async () => Promise.reject(failure) }
    const providers = [{ provide: APP_GUARD, useClass: GuardOf65 }]
    const { get } = await serve({ throttlers: [minute(1)], storage }, { providers })
    expect((await get()).status).toBe(200)
    expect(logged).toHaveBeenCalledWith(failure, expect.stringContaining('allowing the request'))
  })

  it('reports several throttlers, the tightest first', async () => {
    const { get } = await serve({ throttlers: [minute(5), minute(2, 'short')], storage: new SluiceStorage() })
    const { headers } = await get()
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '5', 'x-ratelimit-limit-short': '2' })
    expect(parseList(headers.ratelimit).map(([name]) => name)).toEqual(['short', 'default'])
    await get()
    const refused = await get()
    expect(refused.headers).toMatchObject({ 'retry-after': '60', 'retry-after-short': '60' })
  })

  it('obeys the decorators', async () => {
    const { get, statuses } = await serve(
      { throttlers: [minute(1)], storage: new SluiceStorage() },
      {
        decorate: (controller) => {
          decorated(controller, 'own', Throttle({ default: { limit: 2, ttl: 60_000 } }))
          decorated(controller, 'free', SkipThrottle())
        },
      },
    )
    expect(await statuses(3, '/own')).toEqual([200, 200, 429])
    expect((await get('/free')).headers['x-ratelimit-limit']).toBeUndefined()
  })

  it('sends no fields where none are wanted, and ignores user agents', async () => {
    const throttlers = [{ ...minute(1), setHeaders: false, ignoreUserAgents: [/robot/] }]
    const { get } = await serve({ throttlers, storage: new SluiceStorage() })
    expect((await get('/', { 'user-agent': 'robot' })).status).toBe(200)
    const { headers } = await get()
    expect([headers['x-ratelimit-limit'], headers.ratelimit]).toEqual([undefined, undefined])
    expect((await get()).status).toBe(429)
  })

  it('lets requests pass when a storage fails', async () => {
    const storage = { increment: () => Promise.reject(new Error('broken')) }
    const { statuses } = await serve({ throttlers: [minute(1)], storage })
    expect(await statuses(2)).toEqual([200, 200])
  })
})
