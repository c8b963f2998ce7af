import { describe, expect, it } from 'vitest'
import { type Demand, sizeOf } from './size-of.ts'

const DEMAND: Demand = { perSecond: 500_000, keys: 10_000_000, limits: 1, leased: 0, keyForm: 'readable' }
const sizeFor = (demand: Partial<Demand>) => sizeOf({ ...DEMAND, ...demand })

describe('sizeOf', () => {
  it('has two nodes and one shard for the smallest demand: one of the nodes may go', () => {
    expect(sizeFor({ perSecond: 1, keys: 0 })).toMatchObject({ nodes: 2, workersPerNode: 1, workers: 2, shards: 1 })
  })

  it.each([1, 1_000, 10_000, 100_000, 500_000, 660_000])('plans no node beyond a half, at %i a second', (perSecond) => {
    const { workers, workerPerSecond, shardBusy, nodes, workersPerNode } = sizeFor({ perSecond })
    expect(workers).toBe(nodes * workersPerNode)
    expect(workers * workerPerSecond).toBeGreaterThanOrEqual(perSecond)
    expect(shardBusy).toBeLessThanOrEqual(0.5)
    expect(shardBusy).toBeGreaterThan(0)
  })

  it('has no more shards than are needed', () => {
    const { shards, redisUs } = sizeFor({})
    expect(((500_000 / (shards - 1)) * redisUs) / 1e6).toBeGreaterThan(0.45)
  })

  it('needs more for more limits, and fewer shards where leases answer', () => {
    const one = sizeFor({})
    const two = sizeFor({ limits: 2 })
    const lent = sizeFor({ leased: 0.9 })
    expect(two.workers).toBeGreaterThan(one.workers)
    expect(two.shards).toBeGreaterThan(one.shards)
    expect(two.memoryBytes).toBe(2 * one.memoryBytes)
    expect(lent.shards).toBeLessThan(one.shards / 4)
    expect(lent.workers).toBe(one.workers)
  })

  it('has room for counters in every shard, by the form of their keys', () => {
    const readable = sizeFor({})
    const compact = sizeFor({ keyForm: 'compact' })
    expect(readable.memoryBytes).toBe(10_000_000 * 213)
    expect(compact.memoryBytes).toBe(10_000_000 * 117)
    expect(readable.shards * readable.shardMemoryBytes).toBeGreaterThan(1.5 * readable.memoryBytes)
  })

  it('has no more shards than there are partitions, and says how busy they would be', () => {
    expect(sizeFor({ perSecond: 5_000_000 })).toMatchObject({ shards: 32 })
    expect(sizeFor({ perSecond: 5_000_000 }).shardBusy).toBeGreaterThan(1)
  })

  it('says what one shard is to carry where all decisions are leased', () => {
    expect(sizeFor({ leased: 1 })).toMatchObject({ shards: 1, shardBusy: 0, decisionsPerCall: 1 })
  })
})
