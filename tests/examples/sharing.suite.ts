import { randomUUID } from 'node:crypto'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'
import { type ExampleApp, runExample } from './example-app.suite.ts'

const LIMIT = 60

/** States that processes of an example count together in Redis. */
export function testSharing(file: string): void {
  describe(`examples/${file} with REDIS_URL`, () => {
    it('shares budgets between processes', async () => {
      // A Redis of its own: examples give all keys of an address one net, and those of other files would use it up.
      await using redis = await startRedis()
      const env = { REDIS_URL: redis.url }
      await using one = await runExample(file, env)
      await using two = await runExample(file, env)
      // Before there is a connection, and whenever Redis takes more than 5 ms, an app counts by itself. No later answer
      // about the same key makes up for that, so each attempt has a key of its own.
      const left = await until('three requests in a row are counted in Redis', async () => {
        const answers = await spend(randomUUID(), [one, two, one])
        return answers.length === 3 && answers
      })
      expect(left).toEqual([LIMIT - 1, LIMIT - 2, LIMIT - 3])
    })
  })
}

/** Asks each app in turn with one key, and returns what each says is left; it stops where one counts by itself. */
async function spend(key: string, apps: readonly ExampleApp[]): Promise<number[]> {
  const answers: number[] = []
  for (const app of apps) {
    const left = await ask(app, key)
    // Alone, an app has counted fewer requests than were made. Without an answer about the key, the net has stopped it.
    const isShared = left < LIMIT - answers.length
    if (!isShared) break
    answers.push(left)
  }
  return answers
}

/** Returns what is left for a key after one request. */
async function ask(app: ExampleApp, key: string): Promise<number> {
  const { headers } = await fetch(app.url, { headers: { 'x-api-key': key } })
  const policy = parseList(headers.get('ratelimit') ?? '').find(([name]) => name === 'key')
  return Number(policy?.[1].get('r'))
}
