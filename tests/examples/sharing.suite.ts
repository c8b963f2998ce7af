import { randomUUID } from 'node:crypto'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'
import { type ExampleApp, runExample } from './example-app.suite.ts'

const LIMIT = 60

/** testSharing states that processes of an example count together in Redis. */
export function testSharing(file: string): void {
  // Examples are processes of their own, on a machine that may be busy.
  describe(`examples/${file} with REDIS_URL`, { timeout: 30_000 }, () => {
    it('shares budgets between processes', async () => {
      const env = { REDIS_URL: (await sharedRedis()).url }
      await using one = await runExample(file, env)
      await using two = await runExample(file, env)
      const caller = new Caller()
      await until('both count in Redis', async () => {
        const counted = [await caller.ask(one), await caller.ask(two)]
        return counted.every(({ isShared }) => isShared)
      })
      await caller.spend(one, 5)
      // Alone, each would have 5 less than the limit left, and then 6 less.
      expect(await caller.spend(two, 5)).toBeLessThan(LIMIT - 5)
      const left = await caller.spend(one, 1)
      expect(left).toBeLessThan(LIMIT - 6)
      expect(left).toBeGreaterThanOrEqual(LIMIT - caller.asked)
    })
  })
}

/** A Caller has an API key that nobody else has. */
class Caller {
  readonly #key = randomUUID()
  readonly #askedOf = new Map<ExampleApp, number>()
  asked = 0

  /** spend has requests counted, and returns what is left after the last one. */
  async spend(app: ExampleApp, count: number): Promise<number> {
    let answer = { left: LIMIT, isShared: false }
    for (let i = 0; i < count; i++) {
      await until('a request is counted in Redis', async () => {
        answer = await this.ask(app)
        return answer.isShared
      })
    }
    return answer.left
  }

  /**
   * ask asks once. Before there is a connection, and whenever Redis takes more than 5 ms, an app counts by itself: then no
   * less is left than it was asked for.
   */
  async ask(app: ExampleApp): Promise<{ left: number; isShared: boolean }> {
    const asked = (this.#askedOf.get(app) ?? 0) + 1
    this.#askedOf.set(app, asked)
    const left = await this.#ask(app)
    return { left, isShared: left < LIMIT - asked }
  }

  async #ask(app: ExampleApp): Promise<number> {
    this.asked++
    const { headers } = await fetch(app.url, { headers: { 'x-api-key': this.#key } })
    const policy = parseList(headers.get('ratelimit') ?? '').find(([name]) => name === 'key')
    return Number(policy?.[1].get('r'))
  }
}
