import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { runApp } from '../../middleware/express/express-app.suite.ts'
import { rateLimit } from './index.ts'

describe('sluice/compat/express-rate-limit', () => {
  it('counts in Redis', async () => {
    const { url } = await sharedRedis()
    let randomKey = ''
    const limiter = rateLimit({ redis: url, limit: 2, keyGenerator: () => randomKey })
    const app = await runApp(limiter)
    try {
      // It counts by itself when Redis takes more than 50 ms: each attempt has a key of its own.
      const counted = await until('three requests are counted in Redis', async () => {
        randomKey = randomUUID()
        const statuses = [(await app.get()).status, (await app.get()).status, (await app.get()).status]
        const hits = await limiter.getKey(randomKey)
        return (hits?.totalHits ?? 0) >= 3 && { statuses, hits }
      })
      expect(counted).toMatchObject({ statuses: [200, 200, 429], hits: { totalHits: 3 } })
    } finally {
      await app.close()
      await limiter.close()
    }
  })
})
