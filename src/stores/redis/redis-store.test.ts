import { afterAll, beforeAll } from 'vitest'
import { NEW_SEEDS } from '../../../tests/seeds/seeds.ts'
import { type RedisServer, startRedis } from '../../../tests/servers/redis.mjs'
import { until } from '../../../tests/servers/until.mjs'
import { KeyedHash } from '../../core/hash.ts'
import { storeSuite } from '../store.suite.ts'
import { RedisStore } from './redis-store.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const NAMED = [
  ['redis store', undefined],
  ['redis store with compact keys', new KeyedHash(17, 42)],
] as const

for (const [name, compactKeys] of NAMED) {
  storeSuite(
    name,
    async ({ startMs }) => {
      await server.call('FLUSHDB')
      let nowMs = startMs
      let isConnected = false
      const store = new RedisStore({
        url: server.url,
        compactKeys,
        // The claims are about what is decided; a busy machine must not run into the deadline.
        timeoutMs: 60_000,
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
    { seeds: [1, 3_729_438_487, ...NEW_SEEDS] },
  )
}
