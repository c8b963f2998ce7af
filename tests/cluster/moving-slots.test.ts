import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storedKey } from '../../src/core/keys.ts'
import { compileLimit } from '../../src/core/limit.ts'
import type { Charge } from '../../src/engine/ports.ts'
import type { RedisStore } from '../../src/stores/redis/redis-store.ts'
import { charge } from '../../src/stores/suite/subject.suite.ts'
import { type Cluster, startCluster } from '../servers/cluster.mjs'
import type { RedisServer } from '../servers/redis.mjs'
import { slotOf } from '../servers/slots.mjs'
import { until } from '../servers/until.mjs'
import { connectStore, keyOf, partitionsOf, reasonOf, remaining, urlOf, type WatchedStore } from './partitions.suite.ts'

const PLENTY = compileLimit({ algorithm: 'fixed_window', limit: 1_000, window: '30d' })
const PLACES = compileLimit({ algorithm: 'concurrency', limit: 10, leaseTtl: '1h' })

let cluster: Cluster
let watched: WatchedStore
let store: RedisStore
let partitions: number[]
beforeAll(async () => {
  cluster = await startCluster({ replicasPerMaster: 0 })
  watched = await connectStore(urlOf(cluster), 3)
  store = watched.store
  partitions = await partitionsOf(cluster, cluster.nodes[0])
})
afterAll(async () => {
  await store.close()
  await cluster.stop()
})

/** A Moving is a partition of the first node that no other test uses, and where to move it. */
function moving(): { partition: number; slot: number; to: RedisServer } {
  const partition = partitions.pop() as number
  return { partition, slot: slotOf(`{${partition}}`), to: cluster.nodes[1] }
}

const counter = (partition: number): Charge => charge(keyOf(partition, randomUUID()), PLENTY, 1)

/** Asks once for each charge, and returns how many were admitted. */
async function admit(charges: readonly Charge[]): Promise<number> {
  const answers = await Promise.allSettled(charges.map((each) => store.decide([each])))
  return answers.filter((answer) => answer.status === 'fulfilled' && answer.value[0].allowed).length
}

const used = async (each: Charge): Promise<number> => PLENTY.max - (await remaining(store, each))
const stored = ({ key, limit }: Charge): string => storedKey(key, limit)

describe('a slot that has moved', () => {
  it('is served where it is now, and what was sent to the old place is charged once (MOVED)', async () => {
    const { partition, slot, to } = moving()
    const one = counter(partition)
    expect(await admit([one, one, one])).toBe(3)
    await cluster.moveSlot(slot, to)
    expect(await admit([one, one])).toBe(2)
    expect(await used(one)).toBe(5)
    expect(watched.breakers).toEqual([])
  })

  it('keeps its leases', async () => {
    const { partition, slot, to } = moving()
    const place = charge(keyOf(partition, randomUUID()), PLACES, 4)
    const { permits: lease } = await store.acquire([place])
    await cluster.moveSlot(slot, to)
    if (lease === undefined) throw new Error('there were places')
    await store.release(lease)
    expect(await remaining(store, place)).toBe(10)
  })

  it('is forgotten where it is now', async () => {
    const { partition, slot, to } = moving()
    const one = counter(partition)
    await admit([one])
    await cluster.moveSlot(slot, to)
    await store.reset(one.key, one.limit)
    expect(await used(one)).toBe(0)
  })

  it('is charged as often as it is admitted while it moves under load', async () => {
    const { partition, slot, to } = moving()
    const counters = Array.from({ length: 8 }, () => counter(partition))
    const admitted = counters.map(() => 0)
    let isMoving = true
    const load = (async () => {
      while (isMoving || admitted[0] === 0)
        for (const [i, each] of counters.entries()) admitted[i] += await admit([each])
    })()
    await admit(counters).then((count) => expect(count).toBe(8))
    const move = await cluster.beginMove(slot, to)
    for (const each of counters) await move.moveKeys(stored(each))
    await move.finish()
    isMoving = false
    await load
    // Each was charged once more at the start.
    expect(await Promise.all(counters.map(used))).toEqual(admitted.map((count) => count + 1))
  })
})

describe('a slot on its way', () => {
  it('is asked for each key where that is (ASK)', async () => {
    const { partition, slot, to } = moving()
    const [staying, moved, unseen] = [counter(partition), counter(partition), counter(partition)]
    expect(await admit([staying, moved])).toBe(2)
    const move = await cluster.beginMove(slot, to)
    await move.moveKeys(stored(moved))
    for (const each of [staying, moved, unseen]) {
      expect(await admit([each])).toBe(1)
      expect(await admit([each])).toBe(1)
    }
    await move.moveAllKeys()
    await move.finish()
    expect([await used(staying), await used(moved), await used(unseen)]).toEqual([3, 3, 2])
  })

  it('is asked with the whole script where the new node does not know it', async () => {
    const { partition, slot, to } = moving()
    const one = counter(partition)
    await to.call('SCRIPT', 'FLUSH')
    const move = await cluster.beginMove(slot, to)
    expect(await admit([one])).toBe(1)
    await move.moveAllKeys()
    await move.finish()
    expect(await used(one)).toBe(1)
  })

  it('is asked again until the keys of a batch are together (TRYAGAIN)', async () => {
    const { partition, slot, to } = moving()
    const [staying, moved] = [counter(partition), counter(partition)]
    expect(await admit([staying, moved])).toBe(2)
    const move = await cluster.beginMove(slot, to)
    await move.moveKeys(stored(moved))
    const before = await errors()
    const batch = admit([staying, moved, staying])
    await until('the batch was refused', async () => (await errors()) > before)
    await move.moveAllKeys()
    expect(await batch).toBe(3)
    await move.finish()
    expect([await used(staying), await used(moved)]).toEqual([3, 2])
  })

  it('is left to the failure policy when that takes longer than the deadline, and nothing is charged', async () => {
    const { partition, slot, to } = moving()
    let aheadMs = 0
    const hasty = await connectStore(urlOf(cluster), 3, { now: () => performance.now() + aheadMs })
    const [staying, moved] = [counter(partition), counter(partition)]
    expect(await admit([staying, moved])).toBe(2)
    const move = await cluster.beginMove(slot, to)
    await move.moveKeys(stored(moved))
    for (let i = 0; i < 5; i++) {
      const before = await errors()
      const reason = reasonOf(hasty.store, staying, moved)
      await until('the batch was refused', async () => (await errors()) > before)
      aheadMs += 60_000
      expect(await reason).toBe('unavailable')
    }
    // The server is well: it answers, and what it has for other callers is theirs.
    expect(hasty.breakers).toEqual([])
    expect(hasty.connected.size).toBe(3)
    const other = charge(keyOf(partitions[0], randomUUID()), PLENTY, 1)
    expect(await reasonOf(hasty.store, other)).toBeUndefined()
    await move.moveAllKeys()
    await move.finish()
    expect([await used(staying), await used(moved)]).toEqual([1, 1])
    await hasty.store.close()
  })

  /** Counts the TRYAGAIN replies of all nodes. */
  async function errors(): Promise<number> {
    const texts = await Promise.all(cluster.nodes.map((node) => node.call('INFO', 'errorstats')))
    return texts.reduce<number>(
      (sum, text) => sum + Number(/errorstat_TRYAGAIN:count=(\d+)/.exec(String(text))?.[1] ?? 0),
      0,
    )
  }
})
