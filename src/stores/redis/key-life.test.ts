import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { RedisEndpoint } from '../../../tests/servers/redis.mjs'
import { sharedRedis } from '../../../tests/servers/shared.ts'
import { until } from '../../../tests/servers/until.mjs'
import { storedKey } from '../../core/keys.ts'
import { compileLimit, type Limit } from '../../core/limit.ts'
import type { Charge, HeldPermits } from '../../engine/ports.ts'
import { charge, NAMES, TEN } from '../suite/subject.suite.ts'
import { RedisStore } from './redis-store.ts'

const HOUR_MS = 3_600_000
const WINDOW_MS = 10 * HOUR_MS
/** The beginning of a window of ten hours. */
const START_MS = 50_000 * WINDOW_MS
/** Keys live this much longer when the time is handed in. */
const GRACE_MS = 600_000
/** A machine may be slow, but not by that much. */
const SLACK_MS = 60_000

let redis: RedisEndpoint
let timed: RedisStore
let store: RedisStore
let nowMs: number
let key: string

beforeAll(async () => {
  redis = await sharedRedis()
  let connections = 0
  const events = { connected: () => connections++ }
  timed = new RedisStore({ url: redis.url, timeoutMs: 60_000, scriptNowMs: () => nowMs, events })
  store = new RedisStore({ url: redis.url, timeoutMs: 60_000, events })
  await until('both stores are connected', () => connections === 2)
})
afterAll(() => Promise.all([timed.close(), store.close()]))
beforeEach(() => {
  nowMs = START_MS
  key = `life:${randomUUID()}`
})

const leftMs = async (limit: Limit): Promise<number> => Number(await redis.call('PTTL', storedKey(key, limit)))

/** hit charges at a time since the start. The server's clock stands still, so the key is made older by what has passed. */
async function hit(limit: Limit, afterMs: number, cost: number): Promise<string> {
  const passedMs = START_MS + afterMs - nowMs
  nowMs += passedMs
  if (passedMs > 0) await redis.call('PEXPIRE', storedKey(key, limit), (await leftMs(limit)) - passedMs)
  const [verdict] = await timed.decide([charge(key, limit, cost)])
  return `${verdict.kind} ${verdict.remaining}`
}

/** Claims that a key lives for so long, and not much longer. */
async function livesFor(limit: Limit, ms: number): Promise<void> {
  const left = await leftMs(limit)
  expect(left).toBeLessThanOrEqual(ms)
  expect(left).toBeGreaterThan(ms - SLACK_MS)
}

describe('a key of a sliding window', () => {
  const limit = compileLimit({ limit: 10, window: WINDOW_MS })

  it('lives through the window after the last hit, also when a refusal began the window', async () => {
    expect(await hit(limit, 0, 10)).toBe('allowed 0')
    await livesFor(limit, 2 * WINDOW_MS + GRACE_MS)
    expect(await hit(limit, WINDOW_MS, 2)).toBe('refused 1')
    await livesFor(limit, WINDOW_MS + GRACE_MS)
    expect(await hit(limit, 1.5 * WINDOW_MS, 4)).toBe('allowed 2')
    await livesFor(limit, 1.5 * WINDOW_MS + GRACE_MS)
    expect(await hit(limit, 2 * WINDOW_MS, 0)).toBe('allowed 7')
  })

  it('lives no longer for a second hit in its window', async () => {
    expect(await hit(limit, 0, 3)).toBe('allowed 7')
    const before = await leftMs(limit)
    expect(await hit(limit, 0, 3)).toBe('allowed 4')
    expect(await leftMs(limit)).toBeLessThanOrEqual(before)
    await livesFor(limit, 2 * WINDOW_MS + GRACE_MS)
  })

  it('lives no longer than its window, also after a large batch', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, i) => timed.decide([charge(`${key}:${i}`, limit, 1)])))
    expect(await hit(limit, HOUR_MS, 1)).toBe('allowed 9')
    await livesFor(limit, 2 * WINDOW_MS - HOUR_MS + GRACE_MS)
  })

  it('lives no longer than the window before matters when the hits of this one are given back', async () => {
    expect(await hit(limit, 0, 6)).toBe('allowed 4')
    expect(await hit(limit, WINDOW_MS, 2)).toBe('allowed 3')
    await livesFor(limit, 2 * WINDOW_MS + GRACE_MS)
    expect(await hit(limit, WINDOW_MS, -2)).toBe('allowed 5')
    await livesFor(limit, WINDOW_MS + GRACE_MS)
  })
})

describe('a key of a fixed window', () => {
  const limit = compileLimit({ algorithm: 'fixed_window', limit: 10, window: WINDOW_MS })

  it('lives until the end of the window of its last hit', async () => {
    expect(await hit(limit, 0, 10)).toBe('allowed 0')
    await livesFor(limit, WINDOW_MS + GRACE_MS)
    expect(await hit(limit, HOUR_MS, 1)).toBe('refused 0')
    await livesFor(limit, WINDOW_MS - HOUR_MS + GRACE_MS)
    expect(await hit(limit, WINDOW_MS + HOUR_MS, 1)).toBe('allowed 9')
    await livesFor(limit, WINDOW_MS - HOUR_MS + GRACE_MS)
  })
})

describe('a key of places', () => {
  const limit = compileLimit({ algorithm: 'concurrency', limit: 3, leaseTtl: WINDOW_MS })
  const acquire = async (): Promise<HeldPermits> => {
    const { permits } = await store.acquire([charge(key, limit, 1)])
    if (permits === undefined) throw new Error('there were places')
    return permits
  }

  it('ends with the remaining leases when others are released, and with the last of them', async () => {
    const [first, second, third] = [await acquire(), await acquire(), await acquire()]
    await store.release(second)
    await livesFor(limit, WINDOW_MS)
    await store.release(first)
    await livesFor(limit, WINDOW_MS)
    expect((await store.decide([charge(key, limit, 0)]))[0].remaining).toBe(2)
    await store.release(third)
    expect(await leftMs(limit)).toBe(-2)
  })
})

describe('a key that holds what no store wrote', () => {
  const LENGTHS = [0, 1, 3, 5, 7, 11, 13, 15, 17, 21, 35, 37]

  it.each(NAMES)('counts as one of %s that was never used', async (algorithm) => {
    const limit = TEN[algorithm]
    for (const length of LENGTHS) {
      await redis.call('SET', storedKey(key, limit), 'x'.repeat(length))
      const use: Charge = charge(key, limit, 4)
      const { verdicts } = await store.acquire([use])
      expect(verdicts).toMatchObject([{ kind: 'allowed', remaining: 6 }])
      expect(await leftMs(limit)).toBeGreaterThan(0)
    }
  })

  it('of another type is replaced', async () => {
    const limit = TEN.gcra
    await redis.call('HSET', storedKey(key, limit), 'field', 'value')
    expect(await store.decide([charge(key, limit, 4)])).toMatchObject([{ kind: 'allowed', remaining: 6 }])
  })
})
