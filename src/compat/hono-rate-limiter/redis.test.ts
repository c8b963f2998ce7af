import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { honoApp, onWeb } from '../../middleware/hono/hono-app.suite.ts'
import { rateLimiter } from './index.ts'

describe('sluice/compat/hono-rate-limiter on Redis', () => {
  it('shares hits between apps', async () => {
    const { url } = await sharedRedis()
    let key = ''
    const limiters = [1, 2].map(() => rateLimiter({ redis: url, limit: 2, keyGenerator: () => key }))
    try {
      const [one, two] = limiters.map((limiter) => onWeb(honoApp([limiter])))
      // Until the connection is there, and when Redis takes more than 50 ms, each counts for itself.
      await until('both count in Redis', async () => {
        key = randomUUID()
        const used = [await one.get(), await two.get()].map(({ headers }) => headers['ratelimit-remaining'])
        expect(used).toEqual(['1', '0'])
        expect([(await one.get()).status, (await two.get()).status]).toEqual([429, 429])
        return true
      })
    } finally {
      await Promise.all(limiters.map((limiter) => limiter.close()))
    }
  })
})
