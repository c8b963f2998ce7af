import { afterAll, beforeAll } from 'vitest'
import { type RedisServer, startRedis } from '../../../tests/servers/redis.mjs'
import { until } from '../../../tests/servers/until.mjs'
import { storeSuite } from '../store.suite.ts'
import { RedisStore } from './redis-store.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

storeSuite(
  'redis store',
  async ({ startMs }) => {
    await server.call('FLUSHDB')
    let nowMs = startMs
    let isConnected = false
    const store = new RedisStore({
      url: server.url,
      // The claims are about what is decided; a busy machine must not run into the deadline.
      timeoutMs: 5_000,
      scriptNowMs: () => nowMs,
      events: {
        connected: () => {
          isConnected = true
        },
      },
    })
    await until('the store is connected', () => isConnected)
    return {
      store,
      setNowMs: (next) => {
        nowMs = next
      },
      close: () => store.close(),
    }
  },
  { seeds: [1, 3_729_438_487, Date.now() % 4_294_967_296] },
)
