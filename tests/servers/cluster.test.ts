import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from './cluster.mjs'
import type { RedisServer } from './redis.mjs'
import { keyIn, slotOf } from './slots.mjs'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 3_000 })
})
afterAll(() => cluster.stop())

/** Returns a master that does not serve the slot. */
async function anotherMaster(slot: number): Promise<RedisServer> {
  const owner = await cluster.nodeFor(slot)
  return (await cluster.masters()).find((each) => each !== owner)!
}

describe('slots', () => {
  it('are all served, by three masters with a replica each', async () => {
    const ranges = await cluster.slots()
    expect(ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)).toBe(16384)
    expect(await cluster.masters()).toHaveLength(3)
    expect(ranges.map(({ replicas }) => replicas.length)).toEqual([1, 1, 1])
  })

  it.each(['', 'a', 'user:1', '{tag}rest', 'a{tag}b{other}', '{}whole', 'a{open', '}{x}', 'Ünïcode'])(
    'of the key "%s" are what Redis says',
    async (key) => {
      expect(slotOf(key)).toBe(await cluster.nodes[0].call('CLUSTER', 'KEYSLOT', key))
    },
  )

  it('have keys, as many as are asked for', () => {
    expect([keyIn(0), keyIn(0, 1), keyIn(16383)].map(slotOf)).toEqual([0, 0, 16383])
    expect(keyIn(0)).not.toBe(keyIn(0, 1))
  })

  it('answer MOVED elsewhere, which redis-cli follows', async () => {
    const key = keyIn(100)
    const [owner, other] = [await cluster.nodeFor(100), await anotherMaster(100)]
    await expect(other.call('GET', key)).rejects.toThrow(`MOVED 100 127.0.0.1:${owner.port}`)
    expect(await cluster.cli('SET', key, 'there')).toBe('OK')
    expect(await owner.call('GET', key)).toBe('there')
  })
})

describe('a slot on its way', () => {
  it('answers ASK for keys that have moved, and TRYAGAIN for keys of which only some have', async () => {
    const slot = 200
    const to = await anotherMaster(slot)
    const [staying, moving] = [keyIn(slot, 1), keyIn(slot, 2)]
    await cluster.cli('SET', staying, 'a')
    await cluster.cli('SET', moving, 'b')

    const move = await cluster.beginMove(slot, to)
    await move.moveKeys(moving)
    expect(await move.from.call('GET', staying)).toBe('a')
    await expect(move.from.call('GET', moving)).rejects.toThrow(`ASK ${slot} 127.0.0.1:${to.port}`)
    await expect(move.from.call('MGET', staying, moving)).rejects.toThrow('TRYAGAIN')
    await expect(to.call('GET', moving)).rejects.toThrow('MOVED')
    const asking = await to.connect()
    await asking.send('ASKING')
    expect(await asking.send('GET', moving)).toBe('b')
    asking.close()

    await move.moveAllKeys()
    await move.finish()
    expect(await cluster.nodeFor(slot)).toBe(to)
    expect(await to.call('MGET', staying, moving)).toEqual(['a', 'b'])
    await expect(move.from.call('GET', staying)).rejects.toThrow('MOVED')
  })

  it('stays where it was when the move is aborted', async () => {
    const slot = 300
    const owner = await cluster.nodeFor(slot)
    const move = await cluster.beginMove(slot, await anotherMaster(slot))
    await expect(owner.call('GET', keyIn(slot))).rejects.toThrow('ASK')
    await move.abort()
    expect(await owner.call('GET', keyIn(slot))).toBeNull()
  })

  it('arrives with its keys', async () => {
    const [slot, key] = [400, keyIn(400)]
    await cluster.cli('SET', key, 'moved')
    const to = await anotherMaster(slot)
    await cluster.moveSlot(slot, to)
    expect(await to.call('GET', key)).toBe('moved')
  })
})

describe('a failover', () => {
  it('makes a replica the master of its slots, and the master its replica', async () => {
    const [before, [replica]] = [await cluster.nodeFor(9000), await cluster.replicasFor(9000)]
    expect(await cluster.failover(9000)).toBe(replica)
    expect(await cluster.nodeFor(9000)).toBe(replica)
    expect(await cluster.replicasFor(9000)).toEqual([before])
  })

  it('follows the death of a master, which returns as a replica', async () => {
    const before = await cluster.nodeFor(16000)
    await before.kill()
    await cluster.settled()
    const after = await cluster.nodeFor(16000)
    expect(after).not.toBe(before)
    expect(await after.call('SET', keyIn(16000), 'alive')).toBe('OK')
    await before.restart()
    await cluster.settled()
    expect(await cluster.replicasFor(16000)).toEqual([before])
  })
})
