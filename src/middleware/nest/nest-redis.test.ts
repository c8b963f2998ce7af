import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { startProxy } from '../../../tests/servers/proxy.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { testAdapterOnRedis } from '../adapter-redis.suite.ts'
import { RateLimit, SluiceModule } from './index.ts'
import { nestAdapters } from './nest-adapter.suite.ts'
import { decorated, PLATFORMS, runApp } from './nest-app.suite.ts'

for (const adapter of nestAdapters) testAdapterOnRedis(adapter)

describe('SluiceModule, on Redis', () => {
  it('counts the limits of handlers there, and lets go of it with the app', async () => {
    await using proxy = await startProxy((await sharedRedis()).port)
    const limit = { limit: 1, window: '1d', onStoreFailure: 'closed', timeoutMs: 60_000 } as const
    const [app, own] = [randomUUID(), randomUUID()]
    const run = () =>
      runApp(PLATFORMS[0][1], {
        imports: [SluiceModule.forRoot({ ...limit, name: app, redis: proxy.url, log: () => {} })],
        decorate: (controller) => decorated(controller, 'own', RateLimit({ ...limit, name: own })),
      })
    const [one, two] = [await run(), await run()]
    await until('decisions are made in Redis', async () => (await one.get()).status === 429)
    expect([(await one.get('/own')).status, (await two.get('/own')).status]).toEqual([200, 429])
    await Promise.all([one.close(), two.close()])
    await until('the connections are closed', () => proxy.connections === 0)
  })
})
