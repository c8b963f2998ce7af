import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import { DEFAULTS } from '../../src/core/rules/rule-defaults.ts'
import { FailurePolicy } from '../../src/engine/failure-policy.ts'
import type { Charge } from '../../src/engine/ports.ts'
import { LeasedStore } from '../../src/stores/leased/leased-store.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { startProxy } from '../servers/proxy.mjs'
import { sharedRedis } from '../servers/shared.ts'
import { until } from '../servers/until.mjs'

// More calls than the store can answer in time, and a limit all the same.

/** Its window begins with the first hit, so that it does not end while a test runs. */
const LIMIT = compileLimit({ limit: 100, window: '1d', algorithm: 'fixed_window', anchor: 'first_hit' })
const CALLS = 1_000

function chargeOf(key: string, consistency: 'exact' | 'leased' | 'eventual'): Charge {
  const { onStoreFailure, localShare, timeoutMs, syncIntervalMs } = DEFAULTS
  const policy = { consistency, onStoreFailure, localShare, timeoutMs, syncIntervalMs }
  return { key, limit: LIMIT, cost: 1, enforce: true, policy }
}

/** A node whose Redis answers, but long after the deadline. It counts what was decided without Redis. */
async function slowStore(delayMs: number) {
  const redis = await sharedRedis()
  const proxy = await startProxy(redis.port)
  let isConnected = false
  const shared = new RedisStore({ url: proxy.url, events: { connected: () => (isConnected = true) } })
  let fallbacks = 0
  const local = new MemoryStore()
  const store = new FailurePolicy(new LeasedStore(shared), local, { fellBack: () => fallbacks++ })
  onTestFinished(async () => {
    await proxy.heal()
    await store.close()
    await proxy.stop()
  })
  await until('the store is connected', () => isConnected)
  proxy.delay(delayMs)
  return { store, fallbacks: () => fallbacks }
}

describe.each(['exact', 'leased', 'eventual'] as const)('with a store that is too slow, a rule (%s)', (consistency) => {
  it('admits no more than its limit and what the node may admit alone', async () => {
    const { store, fallbacks } = await slowStore(1_000)
    const charge = chargeOf(`sluice:{1}:${randomUUID()}`, consistency)
    let allowed = 0
    for (let round = 0; round < 10; round++) {
      const verdicts = await Promise.all(Array.from({ length: CALLS / 10 }, () => store.decide([charge])))
      allowed += verdicts.filter(([verdict]) => verdict.allowed).length
    }
    expect(fallbacks()).toBeGreaterThan(0)
    expect(allowed).toBeGreaterThanOrEqual(LIMIT.max)
    expect(allowed).toBeLessThanOrEqual(2 * LIMIT.max)
  })
})
