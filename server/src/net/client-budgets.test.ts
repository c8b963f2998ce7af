import { describe, expect, it } from 'vitest'
import { type ClientBounds, ClientBudgets } from './client-budgets.ts'
import { ManualClock } from './manual-clock.suite.ts'
import { Turns } from './turns.ts'

const BOUNDS: ClientBounds = {
  maxHeldBytes: 1_000,
  maxHeldBytesPerAddress: 300,
  maxHeldBytesPerConnection: 100,
  resets: { burst: 8, perSecond: 1 },
  resetsPerAddress: { burst: 3, perSecond: 1 },
  resetsPerConnection: { burst: 2, perSecond: 1 },
}

function bench(bounds: Partial<ClientBounds> = {}) {
  const clock = new ManualClock()
  const budgets = new ClientBudgets({ ...BOUNDS, ...bounds }, clock, new Turns(1))
  const ended: string[] = []
  const open = (address: string, name = address, isProxy = false) =>
    budgets.open(address, isProxy, (excess) => ended.push(`${name}: ${excess}`))
  const reset = (budget: ReturnType<typeof open>, times: number): void => {
    for (let i = 0; i < times; i++) budget.reset()
  }
  return { clock, budgets, ended, open, reset }
}

describe('resets', () => {
  it('of one address are counted together, on whichever connections, old and new', () => {
    const { open, reset, ended, budgets } = bench()
    const [first, second] = [open('10.0.0.1', 'first'), open('10.0.0.1', 'second')]
    reset(first, 2)
    reset(second, 1)
    expect(ended).toEqual([])
    reset(second, 3)
    expect(ended).toEqual(['second: resets'])
    first.close()
    second.close()
    reset(open('10.0.0.1', 'third'), 1)
    reset(open('10.0.0.2', 'another'), 1)
    expect(ended).toEqual(['second: resets', 'third: resets'])
    expect(budgets.ended).toEqual({ resets: 2, bytes: 0 })
  })

  it('are refilled with time, and with every request that is answered', () => {
    const { open, reset, ended, clock } = bench()
    const budget = open('10.0.0.1')
    reset(budget, 3)
    clock.advance(1_000)
    reset(budget, 1)
    budget.served()
    reset(budget, 1)
    expect(ended).toEqual([])
    reset(budget, 1)
    expect(ended).toEqual(['10.0.0.1: resets'])
  })

  it('of a trusted proxy have no budget of an address', () => {
    const { open, reset, ended } = bench()
    reset(open('10.0.0.1', 'proxy', true), 8)
    expect(ended).toEqual([])
  })

  it('of many addresses end the connections that have more than their share', () => {
    const { open, reset, ended } = bench()
    for (let i = 0; i < 4; i++) reset(open(`10.0.0.${i}`), 2)
    const late = open('10.0.1.1', 'late')
    reset(late, 2)
    expect(ended).toEqual([])
    reset(late, 1)
    expect(ended).toEqual(['late: resets'])
  })

  it('an address is forgotten once it has recovered', () => {
    const { open, reset, ended, clock } = bench({ resets: { burst: 1_000, perSecond: 1 } })
    const first = open('10.0.0.1')
    reset(first, 3)
    first.close()
    clock.advance(3_000)
    open('10.0.0.2').close()
    const again = open('10.0.0.1', 'again')
    reset(again, 3)
    expect(ended).toEqual([])
    reset(again, 1)
    expect(ended).toEqual(['again: resets'])
  })
})

describe('bytes', () => {
  it('a connection has room for its own bound', () => {
    const { open } = bench()
    const budget = open('10.0.0.1')
    budget.hold(60)
    expect([budget.hasRoom(40), budget.hasRoom(41)]).toEqual([true, false])
    budget.hold(-60)
    expect(budget.hasRoom(100)).toBe(true)
  })

  it('above the bound of an address, its heaviest connections end', () => {
    const { open, ended, budgets } = bench()
    const held = [90, 80, 100, 20].map((bytes, i) => {
      const budget = open('10.0.0.1', `${i}`)
      budget.hold(bytes)
      return budget
    })
    open('10.0.0.2', 'other').hold(100)
    expect([ended, budgets.held.bytes]).toEqual([[], 390])
    held[3]?.hold(11)
    expect([ended, budgets.held.bytes]).toEqual([['2: bytes'], 301])
    for (const budget of held) budget.close()
    expect([ended, budgets.held.bytes]).toEqual([['2: bytes'], 100])
  })

  it('above the bound of the process, connections of the heaviest address end, and trusted proxies are no exception', () => {
    const { open, ended, budgets } = bench()
    for (let i = 0; i < 7; i++) open('10.0.0.1', `proxy ${i}`, true).hold(100)
    for (let i = 0; i < 3; i++) open(`10.0.1.${i}`).hold(90)
    expect(ended).toEqual([])
    open('10.0.2.1').hold(50)
    expect([ended, budgets.held.bytes]).toEqual([['proxy 0: bytes'], 920])
  })

  it('one that has ended holds nothing more', () => {
    const { open, budgets } = bench({ maxHeldBytesPerAddress: 50 })
    const budget = open('10.0.0.1')
    budget.hold(60)
    budget.hold(-60)
    budget.hold(40)
    budget.close()
    expect(budgets.held.bytes).toBe(0)
  })
})
