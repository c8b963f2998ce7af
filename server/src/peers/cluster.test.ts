import { describe, expect, it } from 'vitest'
import { compileLimit, type Limit, type LimitOptions } from '../../../src/core/limit.ts'
import type { Charge } from '../../../src/engine/ports.ts'
import { until } from '../../../tests/servers/until.mjs'
import { PEER_PARTITIONS } from './partitions.ts'
import { charge, type PeerNode, PeerNodes } from './peer-nodes.suite.ts'

const DAY: LimitOptions = { limit: 100, window: '1d' }
const CALLERS = Array.from({ length: 60 }, (_, i) => `caller ${i}`)

/** Every algorithm that counts hits, with budget that does not come back while a test runs. */
const ALGORITHMS: readonly LimitOptions[] = [
  { ...DAY, algorithm: 'sliding_window' },
  { ...DAY, algorithm: 'sliding_window', subWindows: 24 },
  { ...DAY, algorithm: 'fixed_window' },
  { ...DAY, algorithm: 'fixed_window', anchor: 'first_hit' },
  { limit: 100, algorithm: 'fixed_window', calendar: { unit: 'year', timeZone: 'Asia/Kathmandu' } },
  { ...DAY, algorithm: 'sliding_log' },
  { limit: 100, window: '365d', algorithm: 'token_bucket' },
  { limit: 100, window: '365d', algorithm: 'gcra' },
  { limit: 100, window: '365d', algorithm: 'leaky_bucket' },
]

/** Asks for as many hits as it can at nodes in turn, and returns how many were admitted. */
async function spend(nodes: readonly PeerNode[], one: Charge, hits: number): Promise<number> {
  let admitted = 0
  for (let i = 0; i < hits; i++) {
    const [verdict] = await nodes[i % nodes.length].store.decide([one])
    if (verdict.allowed) admitted++
  }
  return admitted
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)

/** Spends the budgets of all callers, and returns what was admitted of each. */
const spendAll = (nodes: readonly PeerNode[], limit: Limit, hits: number): Promise<number[]> =>
  Promise.all(CALLERS.map((caller) => spend(nodes, charge(caller, limit), hits)))

describe('three nodes', () => {
  it('have every partition once, each about a third', async () => {
    const nodes = await new PeerNodes().start(3)
    const held = nodes.map(({ cluster }) => cluster.stats.partitionsHeld)
    expect(sum(held)).toBe(PEER_PARTITIONS)
    for (const count of held) expect(count).toBeGreaterThan(50)
  })

  it.each(ALGORITHMS)('admit a limit together, and not one more: %o', async (options) => {
    const nodes = await new PeerNodes().start(3)
    const limit = compileLimit(options)
    expect(await spendAll(nodes, limit, 120)).toEqual(CALLERS.map(() => 100))
  })

  it('charge several rules of one request in all or in none, wherever their counters are', async () => {
    const nodes = await new PeerNodes().start(3)
    const [wide, narrow] = [compileLimit(DAY), compileLimit({ ...DAY, limit: 10 })]
    for (const [i, caller] of CALLERS.entries()) {
      const group = [charge(`shared ${caller}`, wide), charge(caller, narrow)]
      const ask = async () => nodes[i % 3].store.decide(group)
      for (let hit = 0; hit < 10; hit++) expect((await ask()).map(({ allowed }) => allowed)).toEqual([true, true])
      expect(await ask()).toMatchObject([{ allowed: true, remaining: 90 }, { allowed: false }])
    }
    // What was given back arrives a moment later.
    for (const caller of CALLERS) {
      const look = charge(`shared ${caller}`, wide, { cost: 0 })
      await until('it is given back', async () => (await nodes[0].store.decide([look]))[0].remaining === 90)
    }
  })

  it('hold permits that any of them releases and renews', async () => {
    const nodes = await new PeerNodes().start(3)
    const places = compileLimit({ algorithm: 'concurrency', limit: 3, leaseTtl: '1h' })
    for (const caller of CALLERS.slice(0, 9)) {
      const one = charge(caller, places)
      const held = await Promise.all(nodes.map(async ({ store }) => (await store.acquire([one])).permits))
      expect(held.filter((permits) => permits !== undefined)).toHaveLength(3)
      expect((await nodes[0].store.acquire([one])).permits).toBeUndefined()
      const permits = held.filter((each) => each !== undefined)
      expect(await nodes[1].store.renew(permits)).toEqual(['held', 'held', 'held'])
      await nodes[2].store.release(permits[0])
      expect(await nodes[1].store.renew(permits)).toEqual(['retaken', 'held', 'held'])
    }
  })

  it('reset a counter wherever it is, and take refunds', async () => {
    const nodes = await new PeerNodes().start(3)
    const limit = compileLimit(DAY)
    await spendAll(nodes, limit, 100)
    for (const caller of CALLERS) await nodes[0].store.reset(charge(caller, limit).key, limit)
    expect(await spend(nodes, charge(CALLERS[5], limit), 120)).toBe(100)
    await nodes[1].store.decide([charge(CALLERS[5], limit, { cost: -30 })])
    expect(await spend(nodes, charge(CALLERS[5], limit), 120)).toBe(30)
  })
})

describe('planned changes', () => {
  it.each(ALGORITHMS)('hand counters over to a node that joins, and from one that leaves: %o', async (options) => {
    const all = new PeerNodes()
    await all.start(3)
    const limit = compileLimit(options)
    const before = await spendAll(all.nodes, limit, 60)
    await all.add()
    const during = await spendAll(all.nodes, limit, 20)
    await all.settled()
    await (all.nodes[0] as PeerNode).leave()
    const after = await spendAll(all.nodes, limit, 60)
    expect(before.map((count, i) => count + during[i] + after[i])).toEqual(CALLERS.map(() => 100))
    expect(all.nodes.map(({ cluster }) => cluster.stats.partitionsLost)).toEqual([0, 0, 0])
  })

  it('keep permits that are held', async () => {
    const all = new PeerNodes()
    await all.start(2)
    const places = compileLimit({ algorithm: 'concurrency', limit: 2, leaseTtl: '1h' })
    const held = await Promise.all(CALLERS.map(async (caller) => all.nodes[0].store.acquire([charge(caller, places)])))
    await all.add()
    await all.settled()
    await (all.nodes[0] as PeerNode).leave()
    const [node] = all.nodes
    const permits = held.map((each) => each.permits).filter((each) => each !== undefined)
    expect(await node.store.renew(permits)).toEqual(CALLERS.map(() => 'held'))
    for (const one of permits) await node.store.release(one)
    for (const caller of CALLERS)
      expect((await node.store.acquire([charge(caller, places, { cost: 2 })])).permits).toBeDefined()
  })

  it('under load admit a limit and not one more, and only decisions that wait too long fail', async () => {
    const all = new PeerNodes()
    await all.start(3)
    const limit = compileLimit({ ...DAY, limit: 400 })
    const admitted = CALLERS.map(() => 0)
    let isOver = false
    const load = CALLERS.map(async (caller, at) => {
      for (let i = 0; !isOver; i++) {
        const node = all.nodes[i % all.nodes.length]
        try {
          const [verdict] = await node.store.decide([charge(caller, limit)])
          if (verdict.allowed) admitted[at]++
        } catch (error) {
          expect(error).toMatchObject({ name: 'StoreFault' })
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await all.add()
    await all.add()
    await all.settled()
    await (all.nodes[1] as PeerNode).leave()
    await all.settled()
    await until('all limits are reached', async () => {
      const looks = CALLERS.map(
        async (caller) => (await all.nodes[0].store.decide([charge(caller, limit, { cost: 0 })]))[0],
      )
      return (await Promise.all(looks)).every(({ remaining }) => remaining === 0)
    })
    isOver = true
    await Promise.all(load)
    for (const count of admitted) expect(count).toBeLessThanOrEqual(400)
    expect(sum(all.nodes.map(({ cluster }) => cluster.stats.partitionsLost))).toBe(0)
  })
})

describe('a node that is killed', () => {
  it('takes its own counters along, and no others; decisions about them fail until it is replaced', async () => {
    const all = new PeerNodes()
    await all.start(3)
    const limit = compileLimit(DAY)
    await spendAll(all.nodes, limit, 100)
    const victim = all.nodes[1]
    const mine = victim.cluster.hello().held
    await victim.kill()
    const asked = CALLERS.map(async (caller) => (await all.nodes[0].store.decide([charge(caller, limit)]))[0].allowed)
    const ends = await Promise.allSettled(asked)
    const failed = ends.filter(({ status }) => status === 'rejected').length
    expect(failed).toBeGreaterThan(0)
    expect(failed).toBeLessThan(CALLERS.length)
    expect(ends.filter((end) => end.status === 'fulfilled' && end.value)).toEqual([])
    all.list.splice(all.list.indexOf(victim.address), 1)
    await until('the others have taken its part', async () => {
      await Promise.all(all.nodes.map(({ cluster }) => cluster.meet()))
      return sum(all.nodes.map(({ cluster }) => cluster.stats.partitionsHeld)) === PEER_PARTITIONS
    })
    const lost = mine.split('1').length - 1
    expect(all.nodes.map(({ cluster }) => cluster.stats.partitionsLost)).toEqual([lost, lost])
    expect(all.nodes[0].lines).toContain(`unreachable ${victim.address}`)
    const again = await spendAll(all.nodes, limit, 100)
    expect(again.filter((count) => count === 100)).toHaveLength(failed)
    expect(again.filter((count) => count === 0)).toHaveLength(CALLERS.length - failed)
  })
})

it('a node with another secret has no part in it', async () => {
  const all = new PeerNodes()
  const nodes = await all.start(2)
  const other = await all.add('another secret')
  expect(other.cluster.stats).toMatchObject({ peersReachable: 0 })
  await Promise.all(nodes.map(({ cluster }) => cluster.meet()))
  expect(nodes.map(({ cluster }) => cluster.stats.peersReachable)).toEqual([1, 1, 0])
})
