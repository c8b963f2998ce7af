import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import type { Charge } from '../../engine/ports.ts'
import { LendingMemoryStore } from '../lending/lending-memory-store.ts'
import { storeSuite } from '../store.suite.ts'
import { LeasedStore } from './leased-store.ts'
import { ask, charge, limitOf, Scene, spend } from './scene.suite.ts'

storeSuite(
  'leased store, for rules that are exact',
  async ({ startMs }) => {
    let nowMs = startMs
    const clock = { nowMs: () => nowMs }
    const store = new LeasedStore(new LendingMemoryStore({ clock }), { clock, isTimed: false })
    return {
      store,
      setNowMs: (next) => {
        nowMs = next
      },
      close: async () => await store.close(),
    }
  },
  {
    skip: { 'a clock that jumps': 'a refusal that is remembered ends by the clock it was made at' },
    run: {
      how: 'in what is admitted and how long a refusal lasts',
      isSteady: true,
      // A group that one rule is known to refuse asks nobody, and so charges nothing that counts refused hits.
      uses: ({ countDenied }) => !countDenied,
      // A refusal that is remembered tells the budget as it was.
      agrees: (said, expected) => {
        if (said.unasked) return true
        return said.kind === 'refused' && expected.kind === 'refused' && said.retryAfterMs === expected.retryAfterMs
      },
    },
  },
)

describe('a leased rule', () => {
  it('costs a trip for the first request, and none for the next ones while the slice lasts', async () => {
    const { lender, nodes } = new Scene()
    const limit = limitOf()
    await ask(nodes[0], charge(limit))
    expect(lender.exchanges).toHaveLength(1)
    expect(nodes[0].decide([charge(limit)])).toMatchObject([{ kind: 'allowed', limit: 1000, remaining: 998 }])
    expect(lender.exchanges).toHaveLength(1)
  })

  it('answers synchronously when the slice has what is asked for, and refills ahead of need', async () => {
    const { lender, nodes } = new Scene()
    const limit = limitOf({ limit: 100_000 })
    await ask(nodes[0], charge(limit))
    for (let i = 0; i < 10_000; i++) expect(nodes[0].decide([charge(limit)])).not.toBeInstanceOf(Promise)
    expect(nodes[0].stats.asked).toBe(1)
    expect(lender.exchanges.length).toBeLessThan(20)
  })

  it('asks for more at a time the faster it is used, and for less when it is not', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 1_000_000 })
    const node = scene.nodes[0]
    await spend(node, charge(limit), 5_000)
    const fast = scene.lender.exchanges.at(-1)!.ahead
    expect(fast).toBeGreaterThan(500)
    for (let i = 0; i < 100; i++) {
      scene.pass(50)
      await ask(node, charge(limit))
    }
    expect(scene.lender.exchanges.at(-1)!.ahead).toBeLessThan(20)
  })

  it('takes no slice near the limit: the last requests are decided one by one', async () => {
    const { lender, nodes } = new Scene(4)
    const limit = limitOf({ limit: 60 })
    let admitted = 0
    for (let round = 0; round < 100; round++)
      for (const node of nodes) if ((await ask(node, charge(limit))).allowed) admitted++
    expect(admitted).toBe(60)
    expect(lender.exchanges.at(-1)).toMatchObject({ need: 1, keep: 0 })
  })

  it('admits exactly the limit, in whatever order callers ask', async () => {
    const { nodes } = new Scene(7)
    const limit = limitOf({ limit: 500 })
    let admitted = 0
    for (let i = 0; i < 3000; i++) if ((await ask(nodes[(i * i) % 7], charge(limit))).allowed) admitted++
    expect(admitted).toBe(500)
  })

  it('admits costs above what a slice holds, as long as there is budget', async () => {
    const { nodes } = new Scene()
    const limit = limitOf({ limit: 100 })
    expect(await ask(nodes[0], charge(limit, 70))).toMatchObject({ kind: 'allowed', remaining: 30 })
    expect(await ask(nodes[0], charge(limit, 31))).toMatchObject({ kind: 'refused', remaining: 30 })
    expect(await ask(nodes[0], charge(limit, 30))).toMatchObject({ kind: 'allowed', remaining: 0 })
    expect(await ask(nodes[0], charge(limit, 101))).toMatchObject({ kind: 'impossible', maxCost: 100 })
  })

  it('shows one node alone exactly what remains, and several no more than the whole', async () => {
    const limit = limitOf({ limit: 200 })
    const alone = new Scene()
    for (let left = 199; left >= 0; left--) expect((await ask(alone.nodes[0], charge(limit))).remaining).toBe(left)
    const { nodes } = new Scene(3)
    for (let admitted = 1; admitted <= 200; admitted++) {
      const verdict = await ask(nodes[admitted % 3], charge(limit))
      expect(verdict.remaining).toBeLessThanOrEqual(200 - admitted)
    }
  })

  it('looks without spending', async () => {
    const { nodes } = new Scene()
    const limit = limitOf({ limit: 10 })
    expect(await ask(nodes[0], charge(limit, 0))).toMatchObject({ kind: 'allowed', remaining: 10 })
    expect(await ask(nodes[0], charge(limit, 3))).toMatchObject({ remaining: 7 })
    expect(await ask(nodes[0], charge(limit, 0))).toMatchObject({ remaining: 7 })
  })

  it('takes a refund, here or at the lender', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 10 })
    const [node] = scene.nodes
    await ask(node, charge(limit, 4))
    await ask(node, charge(limit, -1))
    expect(await ask(node, charge(limit, 0))).toMatchObject({ remaining: 7 })
    await node.drain()
    await ask(node, charge(limit, -3))
    expect(await ask(node, charge(limit, 0))).toMatchObject({ remaining: 10 })
  })

  it('reports when the window ends, and when to come again', async () => {
    const scene = new Scene()
    const limit = limitOf({ algorithm: 'fixed_window', limit: 5, window: '10s' })
    for (let i = 0; i < 5; i++) expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ resetAfterMs: 10_000 })
    expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ kind: 'refused', retryAfterMs: 10_000 })
    scene.nowMs += 4_000
    expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ retryAfterMs: 6_000, resetAfterMs: 6_000 })
  })
})

describe('slices', () => {
  it('that are not used go back', async () => {
    const scene = new Scene(2)
    const limit = limitOf({ limit: 100 })
    await ask(scene.nodes[0], charge(limit))
    expect(scene.nodes[0].stats.held).toBeGreaterThan(0)
    scene.pass(2_400)
    expect(scene.nodes[0].stats).toMatchObject({ held: 0 })
    expect(await spend(scene.nodes[1], charge(limit), 200)).toBe(99)
  })

  it('are forgotten when they are settled: an idle node asks nothing and holds nothing', async () => {
    const scene = new Scene()
    for (let i = 0; i < 50; i++) await ask(scene.nodes[0], charge(limitOf(), 1, 'leased', `k${i}`))
    scene.pass(6_000)
    const { length } = scene.lender.exchanges
    expect(scene.nodes[0].stats.slices).toBe(0)
    scene.pass(10_000)
    expect(scene.lender.exchanges).toHaveLength(length)
  })

  it('are renewed while they are used, and what was spent is reported within a twentieth of the window', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 1000, window: '10s' })
    await ask(scene.nodes[0], charge(limit, 5))
    scene.pass(600)
    expect(scene.lender.exchanges.at(-1)).toMatchObject({ spent: 5 })
    await ask(scene.nodes[0], charge(limit))
    for (let i = 0; i < 20; i++) {
      scene.pass(500)
      expect(scene.nodes[0].decide([charge(limit)])).not.toBeInstanceOf(Promise)
    }
  })

  it('go back on drain, and what comes later takes new ones', async () => {
    const scene = new Scene(2)
    const limit = limitOf({ limit: 100 })
    await spend(scene.nodes[0], charge(limit), 10)
    await scene.nodes[0].drain()
    expect(scene.nodes[0].stats).toMatchObject({ held: 0, slices: 0 })
    expect(await spend(scene.nodes[1], charge(limit), 200)).toBe(90)
    expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ kind: 'refused' })
  })

  it('go back when the limit changes, and the new limit counts what was spent', async () => {
    const scene = new Scene()
    await spend(scene.nodes[0], charge(limitOf({ limit: 100 })), 10)
    expect(await ask(scene.nodes[0], charge(limitOf({ limit: 30 })))).toMatchObject({ limit: 30, remaining: 19 })
    expect(await spend(scene.nodes[0], charge(limitOf({ limit: 12 })), 100)).toBe(1)
    expect(await spend(scene.nodes[0], charge(limitOf({ limit: 40 })), 100)).toBe(28)
  })

  it('of a rule that gets another algorithm go back, and the new counter is another', async () => {
    const scene = new Scene()
    await spend(scene.nodes[0], charge(limitOf({ limit: 100 })), 10)
    const bucket = limitOf({ limit: 50, algorithm: 'token_bucket' })
    expect(await ask(scene.nodes[0], charge(bucket))).toMatchObject({ remaining: 49 })
    expect(scene.lender.exchanges.some(({ keep, spent }) => keep === 0 && spent === 10)).toBe(true)
  })

  it('of a crashed node count whole until twice the lease has passed, and then as spent', async () => {
    const scene = new Scene(2, { leaseMs: 2_000 })
    const limit = limitOf({ limit: 100, window: '10s', algorithm: 'sliding_log' })
    await ask(scene.nodes[0], charge(limit))
    const stranded = scene.nodes[0].stats.held
    expect(stranded).toBeGreaterThan(0)
    scene.nodes.shift()
    expect(await spend(scene.nodes[0], charge(limit), 200)).toBe(99 - stranded)
    scene.pass(4_000 + 10_000)
    expect(await spend(scene.nodes[0], charge(limit), 200)).toBe(100)
  })

  it('that others need are called back', async () => {
    const scene = new Scene(2)
    const limit = limitOf({ limit: 40 })
    await ask(scene.nodes[0], charge(limit))
    expect(scene.nodes[0].stats.held).toBeGreaterThan(0)
    await spend(scene.nodes[1], charge(limit), 100)
    expect(scene.nodes[0].stats.held).toBe(0)
    scene.pass(25)
    expect(await spend(scene.nodes[1], charge(limit), 100)).toBeGreaterThan(0)
    expect(await ask(scene.nodes[1], charge(limit, 0))).toMatchObject({ remaining: 0 })
  })

  it('are held in a bounded number, however many keys come', async () => {
    const scene = new Scene(1, { maxKeys: 100 })
    const limit = limitOf({ limit: 5 })
    for (let i = 0; i < 5_000; i++) await ask(scene.nodes[0], charge(limit, 1, 'leased', `k${i}`))
    expect(scene.nodes[0].stats.slices).toBeLessThanOrEqual(100)
    expect(await spend(scene.nodes[0], charge(limit, 1, 'leased', 'k7'), 10)).toBe(4)
  })

  it('are lent on: a node of the middle leases from the store, and others from it', async () => {
    const scene = new Scene()
    const [middle] = scene.nodes
    const outer = [scene.node({}, middle), scene.node({}, middle)]
    scene.nodes.push(...outer)
    const limit = limitOf({ limit: 300 })
    let admitted = 0
    for (let i = 0; i < 1000; i++) if ((await ask(outer[i % 2], charge(limit))).allowed) admitted++
    for (let i = 0; i < 80; i++) {
      scene.pass(25)
      for (const node of outer) admitted += await spend(node, charge(limit), 1000)
    }
    expect(admitted).toBe(300)
    expect(scene.lender.exchanges.length).toBeLessThan(middle.stats.exchanges + 1)
  })
})

describe('a group', () => {
  const limit = limitOf({ limit: 10 })
  const exact = limitOf({ limit: 2, window: '1h' })

  it('is charged as a whole or not at all, where some rules are leased and some exact', async () => {
    const { nodes } = new Scene()
    const group = [charge(limit, 1, 'leased', 'a'), charge(exact, 1, 'exact', 'b')]
    expect(await nodes[0].decide(group)).toMatchObject([{ remaining: 9 }, { remaining: 1 }])
    expect(await nodes[0].decide(group)).toMatchObject([{ remaining: 8 }, { remaining: 0 }])
    expect(await nodes[0].decide(group)).toMatchObject([{ kind: 'allowed', remaining: 8 }, { kind: 'refused' }])
    expect(await ask(nodes[0], group[0])).toMatchObject({ remaining: 7 })
  })

  it('that a leased rule refuses charges no other', async () => {
    const { lender, nodes } = new Scene()
    const group = [charge(limit, 10, 'leased', 'a'), charge(exact, 1, 'exact', 'b')]
    await nodes[0].decide(group)
    expect(await nodes[0].decide(group)).toMatchObject([{ kind: 'refused' }, { kind: 'allowed', unasked: true }])
    const { decisions } = lender
    await nodes[0].decide(group)
    expect(lender.decisions).toBe(decisions)
    expect(await ask(nodes[0], charge(exact, 0, 'exact', 'b'))).toMatchObject({ remaining: 1 })
  })

  it('passes when one of several rules in quota mode has budget, wherever they are counted', async () => {
    const { nodes } = new Scene()
    const quota = (one: Charge): Charge => ({ ...one, quota: true })
    const group = [quota(charge(limitOf({ limit: 1 }), 1, 'leased', 'a')), quota(charge(exact, 1, 'exact', 'b'))]
    const answers = [await nodes[0].decide(group), await nodes[0].decide(group), await nodes[0].decide(group)]
    expect(answers.map((verdicts) => verdicts.map(({ allowed }) => allowed))).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ])
  })

  it('reports a shadow rule that is leased, and is not stopped by it', async () => {
    const { nodes } = new Scene()
    const shadow = { ...charge(limitOf({ limit: 1 }), 1, 'leased', 'a'), enforce: false }
    const group = [shadow, charge(limit, 1, 'leased', 'b')]
    await nodes[0].decide(group)
    expect(await nodes[0].decide(group)).toMatchObject([{ kind: 'refused' }, { kind: 'allowed', remaining: 8 }])
  })

  it('that fails at the parent gives back what it took here', async () => {
    const scene = new Scene()
    await ask(scene.nodes[0], charge(limit, 1, 'leased', 'a'))
    scene.lender.decide = () => {
      throw new Error('away')
    }
    const group = [charge(limit, 1, 'leased', 'a'), charge(exact, 1, 'exact', 'b')]
    await expect(async () => await scene.nodes[0].decide(group)).rejects.toThrow('away')
    expect(await ask(scene.nodes[0], charge(limit, 0, 'leased', 'a'))).toMatchObject({ remaining: 9 })
  })

  it('holds places of concurrency rules at the parent, and gives them back', async () => {
    const { nodes } = new Scene()
    const places = compileLimit({ algorithm: 'concurrency', limit: 1 })
    const group = [charge(limit, 1, 'leased', 'a'), charge(places, 1, 'exact', 'c')]
    const first = await nodes[0].acquire(group)
    expect(first.permits?.held).toHaveLength(1)
    expect(await nodes[0].acquire(group)).toMatchObject({ verdicts: [{ remaining: 9 }, { kind: 'refused' }] })
    await nodes[0].release(first.permits!)
    expect((await nodes[0].acquire(group)).permits).toBeDefined()
    expect((await nodes[0].acquire([charge(limit, 1, 'leased', 'a')])).permits).toEqual({ id: '', held: [] })
  })
})
