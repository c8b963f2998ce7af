import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NEW_SEEDS } from '../../../tests/seeds/seeds.ts'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { MemoryStore } from '../memory/memory-store.ts'
import { RedisStore } from '../redis/redis-store.ts'
import { ThrottleCounter, type Throttled, type Throttling, throttlingOf } from './throttle-counter.ts'

/** Times are hours and half hours, and a millisecond more or less: how long a test takes is nothing to them. */
const HOUR_MS = 3_600_000
const START_MS = 1_800_000_000_000
/** What throttle.lua adds to the life of a key whose time comes from the caller. */
const GRACE_MS = 600_000
const TIMEOUT_MS = 60_000

interface Hit {
  /** Below 0: the clock was set back. */
  readonly afterMs: number
  readonly key: number
}

/** Ends and hits meet to the millisecond, or miss each other by one. */
const someMs = fc.constantFrom(0, 1, HOUR_MS / 2 - 1, HOUR_MS / 2, HOUR_MS / 2 + 1, HOUR_MS - 1, HOUR_MS, HOUR_MS + 1)
const throttlings = fc
  .tuple(
    fc.constantFrom(HOUR_MS / 2, HOUR_MS, 2 * HOUR_MS),
    fc.nat(3),
    fc.constantFrom(0, 1, HOUR_MS / 2, HOUR_MS, 3 * HOUR_MS),
    fc.boolean(),
  )
  .map(([ttl, limit, block, isLog]): Throttling => ({ ...throttlingOf(ttl, limit, block), isLog }))
const hitsAfter = (afterMs: fc.Arbitrary<number>) =>
  fc.array(fc.record({ afterMs, key: fc.nat(1) }), { minLength: 1, maxLength: 30 })

/** Seeds that failed once belong here. */
const SEEDS = [1, 2, 3, ...NEW_SEEDS]
const CASES = 400

let redis: RedisStore
let call: (...args: string[]) => Promise<unknown>

beforeAll(async () => {
  const server = await sharedRedis()
  call = (...args) => server.call(...args)
  redis = new RedisStore({ url: server.url })
  await until('it is connected', () => count(randomUUID(), { ...throttlingOf(1, 1, 0) }, START_MS))
})
afterAll(() => redis.close())

async function count(key: string, { ttlMs, limit, blockMs, isLog }: Throttling, nowMs: number): Promise<Throttled> {
  const args = [nowMs, ttlMs, limit, blockMs, isLog ? 'log' : 'count']
  const [hits, windowLeftMs, isBlocked, blockLeftMs] = await redis.run('throttle', key, args, TIMEOUT_MS)
  return { hits, windowLeftMs, isBlocked: isBlocked === 1, blockLeftMs }
}

/** For how long something of a hit has to be remembered: its window, the hit where it counts, a block. */
function lastsMs(
  { ttlMs, blockMs, isLog }: Throttling,
  { hits, isBlocked, windowLeftMs, blockLeftMs }: Throttled,
): number {
  if (isBlocked) return blockMs > 0 ? Math.max(windowLeftMs, blockLeftMs) : windowLeftMs
  // Hits that are not remembered one by one are forgotten with the first of them.
  return isLog || hits === 1 ? ttlMs : windowLeftMs
}

/** The moments of hits. */
function timesOf(hits: readonly Hit[]): number[] {
  let nowMs = START_MS
  return hits.map(({ afterMs }) => (nowMs += afterMs))
}

describe('throttle.lua', () => {
  it.each(SEEDS)('answers as the counters in memory do, and forgets nothing that counts: seed %i', async (seed) => {
    await fc.assert(
      fc.asyncProperty(throttlings, hitsAfter(someMs), async (throttling, hits) => {
        const prefix = randomUUID()
        const times = timesOf(hits)
        const said = await Promise.all(hits.map(({ key }, i) => count(`${prefix}${key}`, throttling, times[i])))
        let nowMs = START_MS
        const counter = new ThrottleCounter(new MemoryStore({ clock: { nowMs: () => nowMs } }))
        /** When the last thing to be remembered of a key ends. */
        const ends = [0, 0]
        for (const [i, { key }] of hits.entries()) {
          nowMs = times[i]
          const expected = counter.count(String(key), throttling)
          expect(said[i]).toEqual(expected)
          // A block forgets the hits before it.
          const isForgotten = expected.isBlocked && throttling.blockMs > 0
          ends[key] = Math.max(isForgotten ? 0 : ends[key], nowMs + lastsMs(throttling, expected))
        }
        for (const key of [0, 1]) {
          const last = hits.findLastIndex((hit) => hit.key === key)
          if (last < 0) continue
          const lifeMs = Number(await call('PTTL', `${prefix}${key}`)) - GRACE_MS
          // Of its life, as much has passed as the test took since.
          expect(lifeMs).toBeGreaterThan(ends[key] - times[last] - HOUR_MS / 4)
          expect(lifeMs).toBeLessThanOrEqual(Math.max(throttling.ttlMs, throttling.blockMs))
        }
      }),
      { seed, numRuns: CASES },
    )
  })

  it.each(SEEDS)('blocks no one for longer than it may after a clock was set back: seed %i', async (seed) => {
    const jumps = fc.oneof(
      someMs,
      someMs.map((ms) => -ms),
      fc.constantFrom(-100 * HOUR_MS, 100 * HOUR_MS),
    )
    await fc.assert(
      fc.asyncProperty(throttlings, hitsAfter(jumps), async (throttling, hits) => {
        const key = randomUUID()
        const said = await Promise.all(timesOf(hits).map((nowMs) => count(key, throttling, nowMs)))
        const { ttlMs, blockMs, limit } = throttling
        for (const { hits: total, isBlocked, windowLeftMs, blockLeftMs } of said) {
          expect(windowLeftMs).toBeGreaterThan(0)
          expect(windowLeftMs).toBeLessThanOrEqual(ttlMs)
          expect(isBlocked).toBe(total === limit + 1)
          expect(isBlocked).toBe(blockLeftMs > 0)
          expect(blockLeftMs).toBeLessThanOrEqual(blockMs > 0 ? Math.max(ttlMs, blockMs) : ttlMs)
        }
      }),
      { seed, numRuns: CASES },
    )
  })

  const NO_NUMBERS = "struct.pack('<dddI4d', 0/0, 0/0, 0/0, 3, 0/0)"
  it.each([
    ['a text', "redis.call('SET', KEYS[1], 'x')"],
    ['of another length', "redis.call('SET', KEYS[1], string.rep('\\255', 29))"],
    ['too short', "redis.call('SET', KEYS[1], string.rep('\\255', 20))"],
    ['no number', `redis.call('SET', KEYS[1], ${NO_NUMBERS})`],
    ['of another type', "redis.call('RPUSH', KEYS[1], 'x')"],
  ])('counts from the beginning where what is stored is %s', async (_, script) => {
    for (const isLog of [true, false]) {
      const key = randomUUID()
      await call('EVAL', script, '1', key)
      const said = await count(key, { ...throttlingOf(HOUR_MS, 2, HOUR_MS), isLog }, START_MS)
      expect(said).toEqual({ hits: 1, windowLeftMs: HOUR_MS, isBlocked: false, blockLeftMs: 0 })
    }
  })
})
