import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { charge, TEN } from '../../src/stores/suite/subject.suite.ts'
import { type Cluster, startCluster } from '../servers/cluster.mjs'
import { connectStore, keyOf, PARTITIONS, partitionsOf, remaining, urlOf } from './partitions.suite.ts'

// A cluster of its own, because the calls of others would count as well.
describe('decisions of one turn', () => {
  let cluster: Cluster
  let store: RedisStore
  beforeAll(async () => {
    cluster = await startCluster({ replicasPerMaster: 0 })
    ;({ store } = await connectStore(urlOf(cluster), 3))
    // Every server knows the script from now on.
    await Promise.all(PARTITIONS.map((partition) => store.decide([charge(keyOf(partition, 'warm'), TEN.gcra, 1)])))
  })
  afterAll(async () => {
    await store.close()
    await cluster.stop()
  })

  /** calls returns how many script calls each node has seen. */
  async function calls(): Promise<number[]> {
    const texts = await Promise.all(cluster.nodes.map((node) => node.call('INFO', 'commandstats')))
    return texts.map((text) => Number(/cmdstat_fcall:calls=(\d+)/.exec(String(text))?.[1] ?? 0))
  }

  it('are one call for each partition they touch, on its master', async () => {
    const before = await calls()
    const some = PARTITIONS.filter((partition) => partition % 4 < 3)
    const verdicts = await Promise.all(
      some.flatMap((partition) =>
        Array.from({ length: 20 }, (_, i) => store.decide([charge(keyOf(partition, `caller:${i % 10}`), TEN.gcra, 1)])),
      ),
    )
    expect(verdicts.every(([{ allowed }]) => allowed)).toBe(true)
    const after = await calls()
    const shares = await Promise.all(cluster.nodes.map((node) => partitionsOf(cluster, node)))
    expect(after.map((count, i) => count - before[i])).toEqual(
      shares.map((share) => share.filter((partition) => some.includes(partition)).length),
    )
    for (const partition of some)
      expect(await remaining(store, { key: keyOf(partition, 'caller:3'), limit: TEN.gcra })).toBe(8)
  })

  it('are one call for a caller with several rules', async () => {
    const before = await calls()
    await store.decide(['a', 'b', 'c'].map((name) => charge(keyOf(5, name), TEN.sliding_window, 1)))
    const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0)
    expect(sum(await calls()) - sum(before)).toBe(1)
  })
})
