import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/algorithms/oracle.suite.ts'
import { storedKey } from '../../src/core/keys.ts'
import { compileLimit } from '../../src/core/limit.ts'
import type { Charge, RateReply, RateReport, Sampler } from '../../src/engine/ports.ts'
import { LeasedStore } from '../../src/stores/leased/leased-store.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { SampledStore } from '../../src/stores/sampled/sampled-store.ts'
import { urlOf } from '../cluster/partitions.suite.ts'
import { sharedCluster, sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

const LIMIT = compileLimit({ limit: 10_000, window: '1s' })
const START_MS = 1_800_000_000_000
const NODES = 3
const STEP_MS = 20
const time = { nowMs: START_MS }
const clock = { nowMs: () => time.nowMs }

const opened: RedisStore[] = []
let url: string
let clusterUrl: string
beforeAll(async () => {
  url = (await sharedRedis()).url
  clusterUrl = urlOf(await sharedCluster())
})
afterAll(() => Promise.all(opened.map((store) => store.close())))

/** Passes reports on to Redis, and remembers what has no answer yet. */
class Watched implements Sampler {
  readonly redis: RedisStore
  readonly #open: Promise<RateReply>[] = []

  constructor(redis: RedisStore) {
    this.redis = redis
  }

  report(report: RateReport): Promise<RateReply> {
    // However busy the machine is, the answer counts: time stands still meanwhile.
    const reply = this.redis.report({ ...report, timeoutMs: 60_000 })
    this.#open.push(reply)
    return reply
  }

  /** Resolves when all reports have an answer, which the store has received. */
  async answered(): Promise<void> {
    await Promise.all(this.#open.splice(0))
    await undefined
  }
}

async function openNodes(at: string) {
  const random = seededRandom(1)
  const nodes: { redis: RedisStore; sampler: Watched; store: SampledStore }[] = []
  for (let i = 0; i < NODES; i++) {
    const redis = new RedisStore({ url: at, scriptNowMs: clock.nowMs })
    opened.push(redis)
    const sampler = new Watched(redis)
    const leased = new LeasedStore(redis, { clock, isTimed: false })
    nodes.push({ redis, sampler, store: new SampledStore(leased, sampler, { clock, random, isTimed: false }) })
  }
  await until('all are connected', async () => {
    const looks = nodes.map(({ redis }) =>
      redis.decide([{ key: 'sluice:{0}:look', limit: LIMIT, cost: 0, enforce: true }]),
    )
    return (await Promise.allSettled(looks)).every(({ status }) => status === 'fulfilled')
  })
  return nodes
}

const chargeOf = (key: string): Charge => ({
  ...{ key, limit: LIMIT, cost: 1, enforce: true },
  policy: { consistency: 'sampled', onStoreFailure: 'closed', localShare: 1 },
})

it.each(['one Redis', 'a cluster'])(
  'nodes on %s admit a limit together, of which each gets twice as much',
  { timeout: 120_000 },
  async (where) => {
    const nodes = await openNodes(where === 'a cluster' ? clusterUrl : url)
    const charge = chargeOf(`sluice:{3}:shop|k=${randomBytes(6).toString('hex')}`)
    const admitted: number[] = []
    for (let ms = 0; ms < 3_000; ms += STEP_MS) {
      if (ms % 1_000 === 0) admitted.push(0)
      for (const [i, { store, sampler }] of nodes.entries()) {
        for (let hit = 0; hit < 20 * STEP_MS; hit++) {
          const [verdict] = await store.decide([charge])
          if (verdict.allowed) admitted[admitted.length - 1]++
        }
        if ((ms + i * STEP_MS) % 100 === 0) store.tick()
        await sampler.answered()
      }
      time.nowMs += STEP_MS
    }
    expect(nodes.map(({ store }) => store.stats.sampledFailures)).toEqual([0, 0, 0])
    for (const count of admitted.slice(1)) {
      expect(count).toBeGreaterThan(0.95 * LIMIT.max)
      expect(count).toBeLessThan(1.05 * LIMIT.max)
    }
  },
)

it('a reset forgets what nodes reported, and what they know', { timeout: 60_000 }, async () => {
  const [node, other] = await openNodes(url)
  const charge = chargeOf(`sluice:{3}:shop|k=${randomBytes(6).toString('hex')}`)
  while ((await node.store.decide([charge]))[0].allowed);
  time.nowMs += 100
  node.store.tick()
  await node.sampler.answered()
  expect((await node.store.decide([charge]))[0].allowed).toBe(true)
  while ((await node.store.decide([charge]))[0].allowed);
  const reset = () => other.redis.counters.reset([storedKey(charge.key, LIMIT)])
  expect(await reset()).toEqual({ counters: 1, isPublished: true })
  await until('the node hears of it', async () => {
    await reset()
    return (await node.store.decide([charge]))[0].allowed
  })
})
