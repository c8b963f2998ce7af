import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import type { Charge, SliceReply, SliceRequest } from '../../engine/ports.ts'
import { ask, charge, limitOf, Scene, SlowLender, spend } from './scene.suite.ts'

const limit = limitOf({ limit: 100, window: '1h', algorithm: 'fixed_window' })
const LEASE_MS = 2_000

describe('a refund', () => {
  it('is taken back here, down to the last hit, when the lender has not heard of what it is for', async () => {
    const { lender, nodes } = new Scene()
    await ask(nodes[0], charge(limit, 4))
    expect(await ask(nodes[0], charge(limit, -4))).toMatchObject({ kind: 'allowed', remaining: 100 })
    expect(lender.decisions).toBe(0)
    await nodes[0].drain()
    expect(lender.decideOne('k', limit, 0).remaining).toBe(100)
  })

  it('goes to the lender, down to the last hit, when that has heard of what it is for', async () => {
    const scene = new Scene()
    const [node] = scene.nodes
    await ask(node, charge(limit, 4))
    scene.pass(2_100)
    expect(scene.lender.exchanges.at(-1)).toMatchObject({ spent: 4 })
    await ask(node, charge(limit))
    expect(await ask(node, charge(limit, -2))).toMatchObject({ kind: 'allowed' })
    expect(scene.lender.decisions).toBe(1)
    await node.drain()
    expect(scene.lender.decideOne('k', limit, 0).remaining).toBe(97)
  })

  it.each([0, 1, 1_000])('is not lost when the lease of the slice is over, by %d ms', async (lateMs) => {
    const scene = new Scene(1, { leaseMs: LEASE_MS })
    const [node] = scene.nodes
    scene.lender.decide([charge(limit, 5, 'exact')])
    await ask(node, charge(limit, 4))
    const { held } = node.stats
    scene.nowMs += LEASE_MS + lateMs
    await ask(node, charge(limit, -1))
    scene.pass(3 * LEASE_MS)
    await node.drain()
    // The whole slice counts as spent. What is refunded is of what others have spent, which comes to the same.
    expect(await ask(scene.node(), charge(limit, 0))).toMatchObject({ remaining: 100 - 5 - (4 + held) + 1 })
  })
})

describe('a group whose rules in quota mode are known to be spent', () => {
  const quota = (one: Charge): Charge => ({ ...one, quota: true })
  const one = limitOf({ limit: 1, window: '1h', algorithm: 'fixed_window' })
  const places = compileLimit({ algorithm: 'concurrency', limit: 3 })
  const group = [quota(charge(one, 1, 'leased', 'q')), charge(places, 2, 'exact', 'p'), charge(limit, 1, 'exact', 'e')]

  it('asks no one, holds no place and is not charged', async () => {
    const { lender, nodes } = new Scene()
    await ask(nodes[0], charge(one, 1, 'leased', 'q'))
    const { decisions } = lender
    const { verdicts, permits: lease } = await nodes[0].acquire(group)
    expect(lender.decisions).toBe(decisions)
    expect(verdicts.map(({ kind }) => kind)).toEqual(['refused', 'allowed', 'allowed'])
    expect(lease).toBeUndefined()
    expect(lender.decideOne('p', places, 0).remaining).toBe(3)
    expect(lender.decideOne('e', limit, 0).remaining).toBe(100)
  })

  it('holds its places, and is charged, when a rule in quota mode lets it pass', async () => {
    const { lender, nodes } = new Scene()
    const { permits: lease } = await nodes[0].acquire(group)
    expect(lease?.held).toHaveLength(1)
    expect(lender.decideOne('p', places, 0).remaining).toBe(1)
    await nodes[0].release(lease!)
    expect(lender.decideOne('p', places, 0).remaining).toBe(3)
    expect(lender.decideOne('e', limit, 0).remaining).toBe(99)
  })
})

describe('a group whose last rule in quota mode the parent refuses', () => {
  it('is refused there: its other rules report their budget as it is, and nothing is given back', async () => {
    const { lender, nodes } = new Scene()
    const quota = (each: Charge): Charge => ({ ...each, quota: true })
    const one = limitOf({ limit: 1, window: '1h', algorithm: 'fixed_window' })
    lender.decide([charge(one, 1, 'exact', 'spent')])
    await ask(nodes[0], charge(one, 1, 'leased', 'q'))
    const { decisions } = lender
    const verdicts = await nodes[0].decide([
      quota(charge(one, 1, 'leased', 'q')),
      quota(charge(one, 1, 'exact', 'spent')),
      charge(limit, 3, 'exact', 'other'),
    ])
    expect(verdicts).toMatchObject([{ kind: 'refused' }, { kind: 'refused' }, { kind: 'allowed', remaining: 100 }])
    expect(lender.decisions).toBe(decisions + 1)
    expect(lender.decideOne('other', limit, 0).remaining).toBe(100)
  })
})

describe('a group that a leased rule in quota mode lets pass', () => {
  it('is charged where another rule in quota mode, at the parent, is spent', async () => {
    const { lender, nodes } = new Scene()
    const quota = (one: Charge): Charge => ({ ...one, quota: true })
    lender.decide([charge(limit, 100, 'exact', 'spent')])
    const group = [
      quota(charge(limit, 1, 'leased', 'open')),
      quota(charge(limit, 1, 'exact', 'spent')),
      charge(limit, 3, 'exact', 'beside'),
    ]
    const verdicts = await nodes[0].decide(group)
    expect(verdicts.map(({ kind }) => kind)).toEqual(['allowed', 'refused', 'allowed'])
    expect(lender.decideOne('beside', limit, 0).remaining).toBe(97)
  })
})

describe('a slice of a node that is gone', () => {
  it('is out until twice its lease has passed, to the millisecond, and is spent from then on', async () => {
    const scene = new Scene(1, { leaseMs: LEASE_MS })
    await ask(scene.nodes[0], charge(limit, 4))
    const out = 4 + scene.nodes[0].stats.held
    const look = (holder: string) => {
      const request = { key: 'k', limit, holder, sequence: 1, spent: 0, confirmed: 0, keep: 0, need: 0, ahead: 0 }
      return scene.lender.exchange({ ...request, cost: 1, leaseMs: LEASE_MS, timeoutMs: 5 })
    }
    scene.nowMs += 2 * LEASE_MS - 1
    expect(look('a')).toMatchObject({ free: 100 - out, holders: 2 })
    scene.nowMs += 1
    expect(look('b')).toMatchObject({ free: 100 - out, holders: 1 })
    expect(scene.lender.decideOne('k', limit, 0).remaining).toBe(100 - out)
  })
})

describe('slices on their way back', () => {
  /** A Stalled lender lends, and never answers who gives back. */
  class Stalled extends SlowLender {
    override exchange(request: SliceRequest): SliceReply | Promise<SliceReply> {
      if (request.need + request.ahead > 0) return this.store.exchange(request)
      return new Promise(() => {})
    }
  }

  it('are bounded while the lender stalls, and what they held counts as spent', async () => {
    const scene = new Scene(0)
    const node = scene.node({ maxKeys: 10, leaseMs: LEASE_MS }, new Stalled(scene.lender))
    for (let i = 0; i < 200; i++) {
      expect((await ask(node, charge(limit, 1, 'leased', `k${i}`))).allowed).toBe(true)
      expect(node.stats.slices).toBeLessThanOrEqual(21)
    }
    scene.nowMs += 2 * LEASE_MS
    const other = scene.node()
    expect(await spend(other, charge(limit, 1, 'leased', 'k0'), 200)).toBe(100 - 1 - 8)
  })
})
