import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { HeldPermits, Store } from '../../src/engine/ports.ts'
import { Renewals } from '../../src/engine/renewals.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { renewalCalls } from '../../src/stores/redis/formats/renew-format.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { renewalsByCounter } from '../../src/stores/renewing/counter-renewals.ts'
import { startRedis } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'

// Requests that never end hold places, and have them renewed: ten thousand of them must not stop anybody else.

const MANY = 10_000
const BATCH = 128
const PLACES = compileLimit({ algorithm: 'concurrency', limit: MANY, leaseTtl: '10m' })

async function redisStore() {
  const redis = await startRedis()
  let isConnected = false
  const store = new RedisStore({
    url: redis.url,
    timeoutMs: 300_000,
    events: { connected: () => (isConnected = true) },
  })
  onTestFinished(async () => {
    await store.close()
    await redis.stop()
  })
  await until('Redis is reached', () => isConnected)
  return { redis, store }
}

/** Takes places, all of one caller or each of another. */
async function takeMany(store: Store, keyOf: (i: number) => string): Promise<HeldPermits[]> {
  const taken: HeldPermits[] = []
  // No call keeps Redis for long: one that is silent for three seconds is given up.
  for (let from = 0; from < MANY; from += BATCH) {
    const acquired = await Promise.all(
      Array.from({ length: Math.min(BATCH, MANY - from) }, (_, i) =>
        store.acquire([{ key: keyOf(from + i), limit: PLACES, cost: 1, enforce: true }]),
      ),
    )
    for (const { permits } of acquired) taken.push(permits as HeldPermits)
  }
  return taken
}

/** How many script calls Redis has run. */
async function callsOf(redis: { call(...args: string[]): Promise<unknown> }): Promise<number> {
  const stats = String(await redis.call('INFO', 'commandstats'))
  const found = [...stats.matchAll(/^cmdstat_(?:fcall|evalsha|eval):calls=(\d+)/gm)]
  return found.reduce((sum, [, calls]) => sum + Number(calls), 0)
}

const KINDS: readonly [string, (i: number) => string][] = [
  ['one caller', () => '{0}:c'],
  ['as many callers', (i) => `{0}:c${i}`],
]

describe('ten thousand requests that do not end', () => {
  it.each(KINDS)('of %s are renewed in Redis by small calls', async (_, keyOf) => {
    const { redis, store } = await redisStore()
    const permits = await takeMany(store, keyOf)
    const before = await callsOf(redis)
    let renewed = 0
    for (let from = 0; from < MANY; from += BATCH) {
      const renewals = await store.renew(permits.slice(from, from + BATCH))
      renewed += renewals.filter((renewal) => renewal === 'held').length
    }
    const after = await callsOf(redis)
    expect(renewed).toBe(MANY)
    expect(after - before).toBeLessThanOrEqual(Math.ceil(MANY / BATCH) + 2)
  })

  it.each(KINDS)('of %s are divided, however many are requested together', (_, keyOf) => {
    const permits = Array.from({ length: MANY }, (_each, i): HeldPermits => {
      return { id: i.toString(16).padStart(16, '0'), held: [{ key: keyOf(i), limit: PLACES, places: 1 }] }
    })
    const calls = renewalCalls(renewalsByCounter(permits).values(), BATCH)
    const sizes = calls.map((call) => call.reduce((sum, { wanted }) => sum + wanted.length, 0))
    expect([Math.max(...sizes), sizes.reduce((sum, size) => sum + size, 0)]).toEqual([BATCH, MANY])
  })

  it.each(KINDS)('of %s are renewed in memory in steps, between which others are served', async (_, keyOf) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const memory = new MemoryStore({ maxKeys: 2 * MANY, clock: { nowMs: () => 1_780_000_000_000 + performance.now() } })
    const permits = await takeMany(memory, keyOf)
    let renewed = 0
    const renewals = new Renewals({
      renewed: (_renewal, count) => {
        renewed += count
      },
    })
    onTestFinished(() => renewals.close())
    for (const each of permits) renewals.keep(memory, each, each)
    let served = 0
    let isOver = false
    const serve = (): void => {
      served++
      if (!isOver) setImmediate(serve)
    }
    await vi.advanceTimersByTimeAsync(299_000)
    setImmediate(serve)
    await vi.advanceTimersByTimeAsync(2_000)
    while (renewed < MANY) await new Promise<void>((resolve) => void setImmediate(resolve))
    isOver = true
    expect(renewed).toBe(MANY)
    expect(served).toBeGreaterThanOrEqual(Math.floor(MANY / BATCH))
  })

  it('cost no timer each, and nothing that stays when they have ended', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const memory = new MemoryStore()
    const renewals = new Renewals()
    const permits = await takeMany(memory, () => randomUUID())
    for (const each of permits) renewals.keep(memory, each, each)
    expect(vi.getTimerCount()).toBe(1)
    for (const each of permits) renewals.letGo(memory, each)
    await vi.advanceTimersByTimeAsync(200_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
