import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisHttp } from '../../src/entries/redis-http.ts'
import { rateLimit } from '../../src/library/rate-limit.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { HttpRedisClient } from '../../src/stores/redis-http/http-client.ts'
import { httpRedisClient } from '../../src/stores/redis-http/http-place.ts'
import { storeSuite } from '../../src/stores/store.suite.ts'
import { type RedisServer, startRedis } from '../servers/redis.mjs'
import { type RedisHttp, startRedisHttp } from '../servers/redis-http.mjs'

const TOKEN = 'secret-token'
let redis: RedisServer
let front: RedisHttp
beforeAll(async () => {
  redis = await startRedis()
  front = await startRedisHttp(redis.url, TOKEN)
})
afterAll(async () => {
  await front.stop()
  await redis.stop()
})

storeSuite(
  'redis store over HTTP',
  async ({ startMs }) => {
    await redis.call('FLUSHDB')
    let nowMs = startMs
    const client = new HttpRedisClient({ url: front.url, token: TOKEN })
    const store = new RedisStore({ url: client, timeoutMs: 60_000, scriptNowMs: () => nowMs })
    return {
      store,
      setNowMs: (next) => {
        nowMs = next
      },
      close: () => store.close(),
    }
  },
  { seeds: [3_729_438_487], operations: 1_000 },
)

const limiterOn = (token = TOKEN, onStoreFailure: 'closed' | 'open' = 'closed') =>
  rateLimit({
    ...{ limit: 10, window: '1d', timeoutMs: 60_000, onStoreFailure, name: randomBytes(4).toString('hex') },
    store: redisHttp({ url: front.url, token }),
  })

describe('a Redis over HTTP', () => {
  it('counts for an app, in one request for each decision, and sends scripts by their hashes', async () => {
    const limiter = limiterOn()
    await limiter.check('a')
    front.commands.length = 0
    expect(await limiter.check('a')).toMatchObject({ allowed: true, remaining: 8 })
    expect(front.commands).toEqual(['EVALSHA'])
    await limiter.close()
  })

  it('sends a script again in full when the server has forgotten it', async () => {
    const limiter = limiterOn()
    await limiter.check('a')
    await redis.call('SCRIPT', 'FLUSH')
    expect(await limiter.check('a')).toMatchObject({ allowed: true, remaining: 8 })
    await limiter.close()
  })

  it('does not repeat a charge whose answer was cut off', async () => {
    const limiter = limiterOn()
    await limiter.check('a')
    front.fault = () => 'cut'
    expect(await limiter.check('a')).toMatchObject({ allowed: false, fallback: 'closed' })
    front.fault = undefined
    expect(await limiter.peek('a')).toMatchObject({ remaining: 8 })
    await limiter.close()
  })

  it('follows the failure policy when the token is wrong', async () => {
    const limiter = limiterOn('wrong')
    expect(await limiter.check('a')).toMatchObject({ allowed: false, fallback: 'closed' })
    await limiter.close()
  })

  it('sends tokens over https or to this machine only', () => {
    const token = TOKEN
    for (const url of ['http://example.com', 'ftp://x', 'https://user@example.com', 'x', 7 as never]) {
      expect(() => httpRedisClient({ url, token })).toThrow()
    }
    expect(() => httpRedisClient({ url: 'https://a.example', token: 'a\nb' })).toThrow('STORE_PLACE_INVALID')
    expect(httpRedisClient({ url: 'https://a.example', token })).toBe(
      httpRedisClient({ url: 'https://a.example', token }),
    )
  })
})
