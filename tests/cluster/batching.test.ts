import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileLimit } from '../../src/core/limit.ts'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { charge, TEN } from '../../src/stores/suite/subject.suite.ts'
import { type Cluster, startCluster } from '../servers/cluster.mjs'
import { connectStore, keyOf, PARTITIONS, partitionsOf, remaining, urlOf } from './partitions.suite.ts'

const TEN_A_MONTH = compileLimit({ algorithm: 'fixed_window', limit: 10, window: '30d' })

// A cluster of its own, because the calls of others would count as well.
describe('decisions of one turn', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ replicasPerMaster: 0 })
  })
  afterAll(() => cluster.stop())

  /** Opens a store whose servers know all scripts from then on. */
  async function open(user = ''): Promise<RedisStore> {
    const { store } = await connectStore(urlOf(cluster).replace('//', `//${user}`), 3)
    const warm = (partition: number) => store.decide([charge(keyOf(partition, 'warm'), TEN.gcra, 0)])
    await Promise.all(PARTITIONS.map(warm))
    for (const partition of PARTITIONS) await warm(partition)
    // After a turn that had one decision, the first of the next leaves alone.
    for (const partition of PARTITIONS) await Promise.all([warm(partition), warm(partition)])
    return store
  }

  /** Returns how many calls of a script, by the command, each node has seen. */
  async function calls(command = 'fcall'): Promise<number[]> {
    const texts = await Promise.all(cluster.nodes.map((node) => node.call('INFO', 'commandstats')))
    return texts.map((text) => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(String(text))?.[1] ?? 0))
  }

  const some = PARTITIONS.filter((partition) => partition % 4 < 3)

  /**
   * Makes 20 decisions in each of some partitions, 2 for each caller, and returns how many calls each node has seen.
   */
  async function decideSome(store: RedisStore, command?: string): Promise<number[]> {
    const name = randomUUID()
    const before = await calls(command)
    const verdicts = await Promise.all(
      some.flatMap((partition) =>
        Array.from({ length: 20 }, (_, i) =>
          store.decide([charge(keyOf(partition, `${name}:${i % 10}`), TEN.gcra, 1)]),
        ),
      ),
    )
    const after = await calls(command)
    expect(verdicts.every(([{ allowed }]) => allowed)).toBe(true)
    for (const partition of some)
      expect(await remaining(store, { key: keyOf(partition, `${name}:3`), limit: TEN.gcra })).toBe(8)
    return after.map((count, i) => count - before[i])
  }

  it('are one call for each node, whatever partitions they are of', async () => {
    const store = await open()
    expect(await decideSome(store)).toEqual([1, 1, 1])
    await store.close()
  })

  it.each([
    ['run', '-fcall'],
    ['define', '-function'],
  ])('are one call for each partition they touch, on its master, where no user may %s functions', async (_, right) => {
    const user = `app-${randomUUID()}`
    await Promise.all(cluster.nodes.map((node) => node.call('FUNCTION', 'FLUSH')))
    await Promise.all(
      cluster.nodes.map((node) => node.call('ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', '+@all', right)),
    )
    const store = await open(`${user}:secret@`)
    const shares = await Promise.all(cluster.nodes.map((node) => partitionsOf(cluster, node)))
    expect(await decideSome(store, 'evalsha')).toEqual(
      shares.map((share) => share.filter((partition) => some.includes(partition)).length),
    )
    await store.close()
  })

  it('are one call for a caller with several rules', async () => {
    const store = await open()
    const before = await calls()
    await store.decide(['a', 'b', 'c'].map((name) => charge(keyOf(5, name), TEN.sliding_window, 1)))
    const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0)
    expect(sum(await calls()) - sum(before)).toBe(1)
    await store.close()
  })

  it('are counted once each while the functions are forgotten again and again', async () => {
    const store = await open()
    const name = randomUUID()
    const rounds = 10
    for (let round = 0; round < rounds; round++) {
      const flushed = cluster.nodes.map((node) => node.call('FUNCTION', 'FLUSH'))
      const verdicts = await Promise.all(
        PARTITIONS.map((partition) => store.decide([charge(keyOf(partition, name), TEN_A_MONTH, 1)])),
      )
      expect(verdicts.map(([{ remaining }]) => remaining)).toEqual(PARTITIONS.map(() => rounds - 1 - round))
      await Promise.all(flushed)
    }
    await store.close()
  })
})
