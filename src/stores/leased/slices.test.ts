import { describe, expect, it } from 'vitest'
import type { Charge } from '../../engine/ports.ts'
import { ask, charge, limitOf, Scene, SlowLender, spend } from './scene.suite.ts'

/** Has a node whose lender answers when the test lets it. */
function slowly(options = {}) {
  const scene = new Scene(0)
  const slow = new SlowLender(scene.lender)
  const node = scene.node(options, slow)
  scene.nodes.push(node)
  return { scene, slow, node }
}

const within = (one: Charge, timeoutMs: number): Charge => ({ ...one, policy: { ...one.policy!, timeoutMs } })

describe('the slices of a node', () => {
  it('make room for a caller that comes often only where one was not used for a while', async () => {
    const scene = new Scene(1, { maxKeys: 1, minHits: 2 })
    const [node] = scene.nodes
    const limit = limitOf()
    const hit = async (key: string): Promise<number> => {
      await ask(node, charge(limit, 1, 'leased', key))
      return node.stats.slicesEvicted
    }
    for (const key of ['a', 'a', 'a', 'b', 'b', 'b']) expect(await hit(key)).toBe(0)
    scene.nowMs += 1_999
    await hit('b')
    expect(await hit('b')).toBe(0)
    scene.nowMs += 1
    await hit('b')
    expect(await hit('b')).toBe(1)
  })

  it('do not give back while they ask', async () => {
    const { slow, node } = slowly()
    const limit = limitOf()
    await ask(node, charge(limit))
    slow.isSlow = true
    const late = node.decide([charge(limit, 500)])
    const { length } = slow.requests
    slow.listener?.noticed({ kind: 'recall', key: 'k' })
    expect([slow.requests.length, node.stats.recalls]).toEqual([length, 0])
    await slow.letGo()
    expect(await late).toMatchObject([{ allowed: true }])
  })

  it.each([
    ['leased', 'timeout'],
    ['eventual', 'allowed'],
  ] as const)('take an answer that comes when their lease is over for what it is: %s %s', async (how, expected) => {
    const { scene, slow, node } = slowly({ leaseMs: 1_000 })
    slow.isSlow = true
    const late = (node.decide([charge(limitOf(), 1, how)]) as Promise<unknown>).then(
      (verdicts) => (verdicts as { kind: string }[])[0].kind,
      ({ reason }) => reason,
    )
    scene.nowMs += 600_000
    await slow.letGo()
    expect(await late).toBe(expected)
  })

  it('ask for all that wait, by when the most urgent of them wants to know', async () => {
    const { slow, node } = slowly()
    const one = charge(limitOf({ algorithm: 'fixed_window', window: '1h' }), 300)
    slow.isSlow = true
    const answers = [20, 30, 50].map((timeoutMs) => node.decide([within(one, timeoutMs)]) as Promise<unknown>)
    for (let i = 0; i < 3; i++) await slow.letGo()
    await Promise.all(answers)
    expect(slow.requests.slice(0, 2)).toMatchObject([{ need: 300, timeoutMs: 20 }, { timeoutMs: 30 }])
  })

  it('ask for the next hit when someone looks, and know then that it is refused', async () => {
    const scene = new Scene(2)
    const [node, other] = scene.nodes
    const limit = limitOf({ limit: 5, algorithm: 'fixed_window', window: '1h' })
    await spend(node, charge(limit), 2)
    await node.drain()
    await ask(node, charge(limit))
    await spend(other, charge(limit, 1, 'exact'), 10)
    scene.nowMs += 10_000
    expect(await ask(node, charge(limit, 0))).toMatchObject({ kind: 'refused', remaining: 0 })
    expect(scene.lender.exchanges.at(-1)).toMatchObject({ cost: 1, need: 0 })
    const { length } = scene.lender.exchanges
    expect(await ask(node, charge(limit))).toMatchObject({ kind: 'refused' })
    expect(scene.lender.exchanges).toHaveLength(length)
  })

  it('forget what is refused when notices begin to arrive again: there may have been a reset', async () => {
    const { scene, slow, node } = slowly()
    const one = charge(limitOf({ limit: 3, algorithm: 'fixed_window', window: '1h' }))
    await spend(node, one, 10)
    slow.listener?.connected(false)
    expect(await ask(node, one)).toMatchObject({ kind: 'refused' })
    scene.lender.reset(one.key, one.limit)
    slow.listener?.connected(true)
    expect(await ask(node, one)).toMatchObject({ kind: 'allowed' })
  })
})

describe('a late charge', () => {
  const limit = limitOf({ limit: 100, algorithm: 'fixed_window', window: '1h' })
  const late = (cost: number, how: 'exact' | 'leased' = 'leased'): Charge => ({
    ...charge(limit, cost, how),
    debit: true,
  })

  it('is spent from what a node holds, and from all that it holds where that is not enough', async () => {
    const [node] = new Scene().nodes
    await ask(node, charge(limit, 10))
    expect(await ask(node, late(1))).toMatchObject({ kind: 'allowed', dropped: 0 })
    expect(await ask(node, late(95))).toMatchObject({ kind: 'allowed', dropped: 0 })
    expect(await spend(node, charge(limit), 10)).toBe(0)
  })

  it('may be more than there can ever be', async () => {
    const [node] = new Scene().nodes
    await ask(node, charge(limit, 10))
    expect(await ask(node, late(250))).toMatchObject({ kind: 'allowed', dropped: 60 })
    const other = { ...late(250), key: 'without a slice' }
    expect(await ask(node, other)).toMatchObject({ kind: 'allowed', dropped: 50 })
  })

  it('is made although a request of its cost is known to be refused', async () => {
    const { lender, nodes } = new Scene()
    for (const cost of [60, 60]) await ask(nodes[0], charge(limit, cost, 'exact'))
    for (const cost of [40, 1, 1]) await ask(nodes[0], charge(limit, cost, 'exact'))
    const { decisions } = lender
    expect(await ask(nodes[0], charge(limit, 1, 'exact'))).toMatchObject({ kind: 'refused' })
    expect(lender.decisions).toBe(decisions)
    expect(await ask(nodes[0], late(1, 'exact'))).toMatchObject({ kind: 'allowed' })
    expect(lender.decisions).toBe(decisions + 1)
  })
})
