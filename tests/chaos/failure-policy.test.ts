import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import { FailurePolicy } from '../../src/engine/failure-policy.ts'
import type { ChargePolicy, HeldPermits } from '../../src/engine/ports.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import type { RedisServer } from '../servers/redis.mjs'
import { until } from '../servers/until.mjs'
import { charge, charged, open, server } from './bench.suite.ts'

const TEN = compileLimit({ limit: 10, window: '520w' })
const PLACES = compileLimit({ algorithm: 'concurrency', limit: 4 })

const ruled = (onStoreFailure: ChargePolicy['onStoreFailure'], localShare = 1) => ({
  policy: { onStoreFailure, localShare, timeoutMs: 60_000 },
})

/** One process of a service: a store behind its policy. */
function node(redis: RedisServer) {
  const bench = open(redis.url)
  const fellBack: string[] = []
  const policy = new FailurePolicy(bench.store, new MemoryStore(), {
    fellBack: (mode, reason, shard) => fellBack.push(`${mode} ${reason} ${shard}`),
  })
  return { ...bench, policy, fellBack }
}

async function killed(redis: RedisServer, ...nodes: ReturnType<typeof node>[]): Promise<void> {
  await redis.kill()
  for (const { told } of nodes) await until('the node notices', () => told('disconnected').length > 0)
}

describe('while Redis is killed', () => {
  it('open rules admit, closed rules refuse, and all is counted again when it has recovered', async () => {
    const redis = await server()
    const one = node(redis)
    await one.connected()
    expect(await one.policy.decide([charge(1, ruled('closed'))])).toMatchObject([{ kind: 'allowed' }])
    await killed(redis, one)
    expect(await one.policy.decide([charge(1, ruled('open')), charge(1, ruled('closed'))])).toMatchObject([
      { kind: 'allowed', fallback: 'open' },
      { kind: 'refused', fallback: 'closed', retryAfterMs: 1_000 },
    ])
    expect(one.fellBack).toEqual(['open offline redis', 'closed offline redis'])
    await redis.restart()
    await one.connected(2)
    const [verdict] = await one.policy.decide([charge(1, ruled('closed'))])
    expect(verdict).toMatchObject({ kind: 'allowed' })
    expect(verdict).not.toHaveProperty('fallback')
    expect(await charged(redis)).toBe(1)
  })

  it('two nodes with half of the budget each admit the budget together, and no more', async () => {
    const redis = await server()
    const nodes = [node(redis), node(redis)]
    for (const { connected } of nodes) await connected()
    await killed(redis, ...nodes)
    let admitted = 0
    for (let i = 0; i < 40; i++) {
      const [{ allowed, fallback }] = await nodes[i % 2].policy.decide([
        charge(1, { limit: TEN, ...ruled('local', 0.5) }),
      ])
      expect(fallback).toBe('local')
      if (allowed) admitted++
    }
    expect(admitted).toBe(10)
  })

  it('places are taken locally, and given back where they were taken', async () => {
    const redis = await server()
    const one = node(redis)
    await one.connected()
    const place = charge(1, { limit: PLACES, ...ruled('local', 0.5) })
    const shared = await one.policy.acquire([place])
    await killed(redis, one)
    const local = await one.policy.acquire([place])
    expect(local.permits).toMatchObject({ isLocal: true })
    // Its place is in the server that is away, and comes back by itself.
    await one.policy.release(shared.permits as HeldPermits)
    await one.policy.release(local.permits as HeldPermits)
    expect((await one.policy.acquire([place])).verdicts).toMatchObject([{ remaining: 1, fallback: 'local' }])
  })
})

describe('while Redis is paused', () => {
  it('every transition is reported, and the policy answers all along', async () => {
    const redis = await server()
    const one = node(redis)
    await one.connected()
    const short = charge(1, { policy: { onStoreFailure: 'open', localShare: 1, timeoutMs: 20 } })
    await redis.pause()
    const decide = async (): Promise<void> =>
      expect(await one.policy.decide([short])).toMatchObject([{ kind: 'allowed', fallback: 'open' }])
    // A timeout in a stall of this process does not count, so there may be more than three.
    while (one.told('breaker').length === 0) await decide()
    const timeouts = one.fellBack.length
    expect(timeouts).toBeGreaterThanOrEqual(3)
    for (let i = 0; i < 2; i++) await decide()
    expect(one.fellBack).toEqual([
      ...Array.from({ length: timeouts }, () => 'open timeout redis'),
      'open breaker_open redis',
      'open breaker_open redis',
    ])
    redis.resume()
    await one.heals()
    expect(one.told('breaker')).toEqual(['breaker open redis', 'breaker half_open redis', 'breaker closed redis'])
    const order = ['connected redis', 'breaker open redis', 'disconnected redis closed', 'breaker closed redis']
    expect(order.map((line) => one.journal.indexOf(line)).every((at, i, all) => at > (all[i - 1] ?? -1))).toBe(true)
    expect(one.told('connected')).toHaveLength(2)
  })
})
