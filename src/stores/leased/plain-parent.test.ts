import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../memory/memory-store.ts'
import { storeSuite } from '../store.suite.ts'
import { LeasedStore } from './leased-store.ts'
import { ask, Counted, charge, limitOf, plainStore, START_MS, spend } from './scene.suite.ts'

storeSuite(
  'leased store on a store that cannot lend',
  async ({ startMs }) => {
    let nowMs = startMs
    const clock = { nowMs: () => nowMs }
    const store = new LeasedStore(plainStore(new MemoryStore({ clock })), { clock, isTimed: false })
    return {
      store,
      setNowMs: (next) => {
        nowMs = next
      },
      close: async () => await store.close(),
    }
  },
  {
    skip: {
      time: 'a remembered refusal reports the budget as it was',
      random: 'a group that one rule is known to refuse says nothing about the others',
    },
  },
)

function scene() {
  const time = { nowMs: START_MS }
  const clock = { nowMs: () => time.nowMs }
  const counted = new Counted({ clock })
  return { time, counted, node: new LeasedStore(plainStore(counted), { clock, isTimed: false }) }
}

describe('on a store that cannot lend', () => {
  it.each(['leased', 'eventual'] as const)('a rule that is %s is counted exactly, request by request', async (kind) => {
    const { counted, node } = scene()
    expect(await spend(node, charge(limitOf({ limit: 20 }), 1, kind), 100)).toBe(20)
    expect(counted.decisions).toBe(21)
    expect(counted.exchanges).toEqual([])
    expect(node.stats).toMatchObject({ slices: 0, exchanges: 0 })
  })

  it('a group of leased and exact rules is charged in all or in none', async () => {
    const { node } = scene()
    const [wide, narrow] = [charge(limitOf({ limit: 20 })), charge(limitOf({ limit: 1 }), 1, 'exact', 'other')]
    expect(await node.decide([wide, narrow])).toMatchObject([{ remaining: 19 }, { remaining: 0 }])
    expect(await node.decide([wide, narrow])).toMatchObject([{ allowed: true }, { allowed: false }])
    expect(await node.decide([{ ...wide, cost: 0 }])).toMatchObject([{ remaining: 19 }])
  })

  it('keeps a refusal for at most a second: no one would hear that the counter was reset', async () => {
    const { time, counted, node } = scene()
    const one = charge(limitOf({ limit: 1 }))
    expect(await spend(node, one, 2)).toBe(1)
    counted.reset('k', one.limit)
    expect(await ask(node, one)).toMatchObject({ allowed: false })
    time.nowMs += 1_000
    expect(await ask(node, one)).toMatchObject({ allowed: true })
  })

  it('lends nothing on, and says so', async () => {
    const { node } = scene()
    expect(node.canLend).toBe(false)
    const request = {
      sequence: 1,
      spent: 0,
      confirmed: 0,
      keep: 0,
      need: 1,
      ahead: 0,
      cost: 1,
      leaseMs: 5,
      timeoutMs: 5,
    }
    await expect(node.exchange({ key: 'k', limit: limitOf(), holder: 'a', ...request })).rejects.toThrow(
      'store: unavailable: the store cannot lend',
    )
  })
})
