import { describe, expect, it } from 'vitest'
import { ask, charge, limitOf, Scene, SlowLender, spend } from './scene.suite.ts'

const fixed = limitOf({ limit: 3, algorithm: 'fixed_window', window: '1h' })

describe.each(['exact', 'leased', 'eventual'] as const)(
  'a refusal (%s) that was made before a reset and heard after it',
  (c) => {
    it('is not remembered', async () => {
      const scene = new Scene(0)
      const slow = new SlowLender(scene.lender)
      const node = scene.node({}, slow)
      const other = scene.node()
      const one = charge(fixed, 1, c)
      await spend(other, charge(fixed, 1, 'exact'), 10)
      slow.isSlow = true
      const late = node.decide([one])
      for (let i = 0; i < 16; i++) await undefined
      await other.reset('k', fixed)
      await slow.letGo()
      await slow.letGo()
      expect(await late).toMatchObject([{ kind: 'refused' }])
      slow.isSlow = false
      scene.nowMs += 1
      expect(await ask(node, one)).toMatchObject({ kind: 'allowed' })
    })
  },
)

describe.each(['exact', 'leased', 'eventual'] as const)('a refusal (%s), when its domain is reset', (c) => {
  const key = 'sluice:{1}:d|r|user=1'

  it('is forgotten, and one that was made before and is heard after it is not remembered', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    const one = charge(fixed, 1, c, key)
    await spend(scene.node(), charge(fixed, 1, 'exact', key), 10)
    const refused = charge(fixed, 1, c, 'sluice:{1}:d|r|user=2')
    await spend(scene.node(), charge(fixed, 1, 'exact', refused.key), 10)
    expect(await ask(node, refused)).toMatchObject({ kind: 'refused' })
    slow.isSlow = true
    const late = node.decide([one])
    for (let i = 0; i < 16; i++) await undefined
    scene.nowMs += 1
    for (const each of [one, refused]) scene.lender.reset(each.key, fixed)
    slow.listener?.noticed({ kind: 'reset_domain', key: 'd' })
    await slow.letGo()
    await slow.letGo()
    expect(await late).toMatchObject([{ kind: 'refused' }])
    slow.isSlow = false
    scene.nowMs += 1
    for (const each of [one, refused]) expect(await ask(node, each)).toMatchObject({ kind: 'allowed' })
  })
})

describe('a reset of a domain', () => {
  it('leaves the slices of other domains as they are', async () => {
    const scene = new Scene()
    const [node] = scene.nodes
    const others = charge(limitOf(), 1, 'leased', 'sluice:{1}:d2|r|user=1')
    const ours = charge(limitOf(), 1, 'leased', 'sluice:{1}:d|r|user=1')
    for (const each of [others, ours]) await ask(node, each)
    scene.lender.notify({ kind: 'reset_domain', key: 'd' })
    const { length } = scene.lender.exchanges
    await ask(node, others)
    expect(scene.lender.exchanges).toHaveLength(length)
    await ask(node, ours)
    expect(scene.lender.exchanges).toHaveLength(length + 1)
  })
})

describe('a node that hears no notices', () => {
  it.each(['leased', 'eventual'] as const)(
    'a %s refusal is kept for a second only while no notices arrive',
    async (c) => {
      const scene = new Scene(0)
      const slow = new SlowLender(scene.lender)
      const node = scene.node({}, slow)
      slow.listener?.connected(false)
      const one = charge(fixed, 1, c)
      await spend(node, one, 10)
      await node.drain()
      expect(await ask(node, one)).toMatchObject({ kind: 'refused' })
      scene.lender.reset('k', fixed)
      scene.nowMs += 1_000
      expect(await ask(node, one)).toMatchObject({ kind: 'allowed' })
    },
  )
})

describe('a request', () => {
  it('a request does not wait behind a slice that goes back', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    scene.nodes.push(node)
    const limit = limitOf()
    await ask(node, charge(limit))
    slow.isSlow = true
    scene.pass(2_300)
    const { length } = slow.requests
    const answer = node.decide([charge(limit)])
    expect(slow.requests).toHaveLength(length + 1)
    expect(slow.requests.at(-1)).toMatchObject({ need: 1, timeoutMs: 5 })
    await slow.letGo()
    expect(await answer).toMatchObject([{ allowed: true }])
  })
})

describe('requests that come while another is in flight', () => {
  it('are asked for next, and refused only when there is nothing left', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    const limit = limitOf({ limit: 500, window: '1h', algorithm: 'fixed_window' })
    slow.isSlow = true
    const answers = Array.from({ length: 60 }, () => ask(node, charge(limit, 10)))
    for (let i = 0; i < 8; i++) await slow.letGo()
    const kinds = (await Promise.all(answers)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'allowed')).toHaveLength(50)
    expect(kinds.filter((kind) => kind === 'refused')).toHaveLength(10)
  })
})

describe('a rule that changes', () => {
  it('a look after the limit was lowered reports the budget of the new one', async () => {
    const scene = new Scene()
    await spend(scene.nodes[0], charge(limitOf({ limit: 100 })), 10)
    expect(await ask(scene.nodes[0], charge(limitOf({ limit: 30 }), 0))).toMatchObject({ limit: 30, remaining: 20 })
  })
  it('a rule that turns from leased to eventual with the same limit starts a new count', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 100 })
    await spend(scene.nodes[0], charge(limit), 10)
    await ask(scene.nodes[0], charge(limit, 1, 'eventual'))
    expect(scene.nodes[0].stats.held).toBe(0)
  })
  it('a sync_interval that is changed is kept from then on', async () => {
    const scene = new Scene()
    const every = (syncIntervalMs: number, limit = limitOf({ limit: 100 })) => {
      const one = charge(limit, 1, 'eventual')
      return { ...one, policy: { ...one.policy!, syncIntervalMs } }
    }
    await ask(scene.nodes[0], every(10_000))
    await ask(scene.nodes[0], every(100))
    await ask(scene.nodes[0], every(100))
    const { length } = scene.lender.exchanges
    scene.pass(150)
    expect(scene.lender.exchanges.length).toBeGreaterThan(length)
  })
})

describe('what remains', () => {
  it('remaining is never more than the whole, for a node that was alone when it asked', async () => {
    const scene = new Scene(2)
    const [a, b] = scene.nodes
    const limit = limitOf({ limit: 200 })
    let left = 200
    const hit = async (node: typeof a): Promise<void> => {
      const verdict = await ask(node, charge(limit))
      left--
      expect(verdict.remaining).toBeLessThanOrEqual(left)
    }
    await hit(a)
    scene.pass(1_200)
    await hit(b)
    for (let i = 0; i < 20; i++) await hit(a)
    await hit(b)
  })
})

describe('a cost above the limit', () => {
  it('a cost that is never admitted is impossible, also while the key is refused', async () => {
    const scene = new Scene()
    await spend(scene.nodes[0], charge(fixed), 10)
    await ask(scene.nodes[0], charge(fixed))
    expect(await ask(scene.nodes[0], charge(fixed, 4))).toMatchObject({ kind: 'impossible', maxCost: 3 })
  })
})

describe('leases', () => {
  it.each([500, 2_000])(
    'of %d ms are renewed when about half of them is left, whenever they began',
    async (leaseMs) => {
      for (let offset = 0; offset < 1_000; offset += 45) {
        const scene = new Scene(1, { leaseMs })
        const [node] = scene.nodes
        const limit = limitOf({ limit: 100_000 })
        await ask(node, charge(limit))
        scene.pass(1_000 + offset)
        await spend(node, charge(limit), 20)
        let askedAtMs = scene.nowMs
        let exchanges = node.stats.exchanges
        for (let i = 0; i < 160; i++) {
          scene.pass(25)
          if (i % 10 === 0) expect(node.decide([charge(limit)])).not.toBeInstanceOf(Promise)
          if (node.stats.exchanges === exchanges) continue
          expect(scene.nowMs - askedAtMs).toBeLessThanOrEqual(leaseMs / 2 + 50)
          exchanges = node.stats.exchanges
          askedAtMs = scene.nowMs
        }
      }
    },
  )
})

describe('a lease of a lease', () => {
  it('nothing is lost in the middle when several ask at the same time', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const middle = scene.node({}, slow)
    const outer = Array.from({ length: 6 }, () => scene.node({}, middle))
    scene.nodes.push(middle, ...outer)
    const limit = limitOf({ limit: 60 })
    slow.isSlow = true
    let admitted = 0
    for (let round = 0; round < 300; round++) {
      const answers = []
      for (const node of outer) {
        answers.push(
          ask(node, charge(limit)).then(({ allowed }) => {
            if (allowed) admitted++
          }),
        )
        await undefined
        await undefined
      }
      for (let i = 0; i < 20; i++) await slow.letGo()
      await Promise.all(answers)
      scene.pass(25)
      for (let i = 0; i < 20; i++) await slow.letGo()
    }
    expect(admitted).toBe(60)
  })
})

describe('a charge that is given back', () => {
  it('a refund ends refusals of costs above one', async () => {
    const scene = new Scene(2)
    const limit = limitOf({ limit: 10, window: '1h', algorithm: 'fixed_window' })
    await ask(scene.nodes[0], charge(limit, 8, 'exact'))
    expect(await ask(scene.nodes[1], charge(limit, 5))).toMatchObject({ kind: 'refused' })
    await ask(scene.nodes[0], charge(limit, -1, 'exact'))
    await ask(scene.nodes[0], charge(limit, -2, 'exact'))
    scene.nowMs += 30
    expect(await ask(scene.nodes[1], charge(limit, 5))).toMatchObject({ kind: 'allowed' })
  })
})

describe('a rule that turns exact', () => {
  it('a rule that turns exact counts what its slices have spent', async () => {
    const scene = new Scene()
    const limit = limitOf({ limit: 20, window: '1h', algorithm: 'fixed_window' })
    let admitted = await spend(scene.nodes[0], charge(limit), 5)
    admitted += await spend(scene.nodes[0], charge(limit, 1, 'exact'), 100)
    expect(admitted).toBe(20)
  })
})

describe('a lender that is unavailable', () => {
  it('a slice whose lender is unavailable does not ask with every hit', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    const limit = limitOf({ limit: 100_000 })
    await spend(node, charge(limit), 3_000)
    slow.isAway = true
    const { exchanges, held } = node.stats
    expect(held).toBeGreaterThan(100)
    for (let i = 0; i < held; i++) expect(node.decide([charge(limit)])).toMatchObject([{ allowed: true }])
    expect(node.stats.exchanges - exchanges).toBeLessThan(20)
  })
})

describe('drain', () => {
  it('has an end when the lender knows of less than others hold', async () => {
    const scene = new Scene(0)
    const forgetful = new SlowLender(scene.lender)
    const middle = scene.node({}, forgetful)
    const outer = scene.node({}, middle)
    const limit = limitOf({ limit: 100 })
    await spend(outer, charge(limit), 2)
    expect(outer.stats.held).toBeGreaterThan(0)
    // The lender lost its data, and somebody else has all of the new budget.
    forgetful.store = new Scene(0).lender
    forgetful.store.decide([charge(limit, 100, 'exact')])
    const { exchanges } = middle.stats
    await middle.drain()
    expect(middle.stats.exchanges - exchanges).toBeLessThan(5)
  })
})

describe('a lender that lost its data', () => {
  it('lends no more than it has to a holder that did not hear so the first time', () => {
    const { lender } = new Scene(0)
    const limit = limitOf({ limit: 10, window: '1h', algorithm: 'fixed_window' })
    lender.decide([charge(limit, 8, 'exact')])
    const request = { key: 'k', limit, holder: 'h', spent: 0, confirmed: 0, need: 0, ahead: 0, cost: 1 }
    const times = { leaseMs: 1_000, timeoutMs: 5 }
    expect(lender.exchange({ ...request, ...times, sequence: 7, keep: 5 })).toMatchObject({ held: 2 })
    // The answer was lost: it still believes in 5.
    expect(lender.exchange({ ...request, ...times, sequence: 8, keep: 5 })).toMatchObject({ held: 2, free: 0 })
  })
})

describe('a drain', () => {
  it('ends, and nothing stays out, when a request names a key both exactly and by a slice of another kind', async () => {
    const scene = new Scene(1, { node: 'n' })
    const [node] = scene.nodes
    const limit = limitOf({ limit: 100 })
    await ask(node, charge(limit))
    await node.decide([charge(limit, 1, 'exact'), charge(limit, 1, 'eventual')])
    await node.drain()
    expect(node.stats.slices).toBe(0)
    const { held, free } = scene.lender.exchange({ ...scene.lender.exchanges[0], holder: 'probe', need: 0, ahead: 0 })
    expect([held, free]).toEqual([0, 97])
  })

  it('ends when the lender is unavailable', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    await ask(node, charge(limitOf()))
    slow.isAway = true
    await node.drain()
    expect(node.stats).toMatchObject({ slices: 0, held: 0 })
  })

  it('gives back what a lender may have lent in an answer that was lost', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    const limit = limitOf({ limit: 100, window: '1h', algorithm: 'fixed_window' })
    const { exchange } = scene.lender
    scene.lender.exchange = (request) => {
      exchange.call(scene.lender, request)
      throw new Error('lost')
    }
    await expect(ask(node, charge(limit))).rejects.toThrow('lost')
    scene.lender.exchange = exchange
    await node.drain()
    expect(await spend(scene.node(), charge(limit), 200)).toBe(100)
  })
})

describe('a group that is refused', () => {
  it('gives a hit back at the lender when that has received it', async () => {
    const scene = new Scene(0)
    const slow = new SlowLender(scene.lender)
    const node = scene.node({}, slow)
    scene.nodes.push(node)
    const limit = limitOf({ limit: 20, window: '1h', algorithm: 'fixed_window' })
    const none = limitOf({ limit: 1, window: '1h' })
    scene.lender.decide([charge(none, 1, 'exact', 'b')])
    await ask(node, charge(limit))
    slow.isSlow = true
    const group = node.decide([charge(limit), charge(none, 1, 'exact', 'b')])
    await slow.letGo()
    // The slice is told of while the other rule is asked.
    scene.pass(1_050)
    await slow.letGo()
    await slow.letGo()
    expect(await group).toMatchObject([{ allowed: true }, { kind: 'refused' }])
    slow.isSlow = false
    expect(await spend(node, charge(limit), 100)).toBe(19)
  })
})

describe('what is lent on', () => {
  it('is for no longer than the node of the middle holds it', async () => {
    const scene = new Scene()
    const [middle] = scene.nodes
    const limit = limitOf({ limit: 1_000 })
    await ask(middle, charge(limit))
    scene.nowMs += 3_900
    const request = { key: 'k', limit, holder: 'h', sequence: 1, spent: 0, confirmed: 0, keep: 0, need: 1, ahead: 0 }
    expect(await middle.exchange({ ...request, cost: 1, leaseMs: 2_000, timeoutMs: 5 })).toMatchObject({
      held: 1,
      leaseMs: 1_100,
    })
  })
})
