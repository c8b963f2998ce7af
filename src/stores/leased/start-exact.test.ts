import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../core/algorithms/oracle.suite.ts'
import type { Charge } from '../../engine/ports.ts'
import { ask, charge, limitOf, Scene, spend } from './scene.suite.ts'

const MIN_HITS = 4
const wide = limitOf({ limit: 1_000_000 })
const hourly = limitOf({ limit: 500_000, window: '1h' })

/** How often the store was asked, in whatever way. */
const tripsOf = ({ lender }: Scene): number => lender.decisions + lender.exchanges.length

/** Lets callers come, at so many a second, and returns how often the store was asked until all is told. */
async function play(
  callers: readonly number[],
  perSecond: number,
  charges: (caller: number) => readonly Charge[],
): Promise<number> {
  const scene = new Scene(1, { minHits: MIN_HITS })
  const step = Math.round(perSecond / 40)
  for (let i = 0; i < callers.length; i++) {
    await scene.nodes[0].decide(charges(callers[i]))
    if (i % step === 0) scene.pass(25)
  }
  await scene.nodes[0].drain()
  return tripsOf(scene)
}

function uniform(count: number, callers: number): number[] {
  const random = seededRandom(7)
  return Array.from({ length: count }, () => Math.floor(random() * callers))
}

/** Draws callers of whom the nth comes 1/n as often as the first. */
function zipf(count: number, callers: number): number[] {
  const random = seededRandom(11)
  const most = Math.log(callers + 1)
  return Array.from({ length: count }, () => Math.floor(Math.exp(random() * most)) - 1)
}

describe('a caller of a leased rule', () => {
  it('is decided by the store at first, and gets a slice with the hit that makes it pay', async () => {
    const scene = new Scene(1, { minHits: MIN_HITS })
    const [node] = scene.nodes
    for (let i = 1; i < MIN_HITS; i++) expect(await ask(node, charge(wide))).toMatchObject({ remaining: 1_000_000 - i })
    expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual([MIN_HITS - 1, 0])
    expect(await ask(node, charge(wide))).toMatchObject({ remaining: 1_000_000 - MIN_HITS })
    expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual([MIN_HITS - 1, 1])
    expect(node.decide([charge(wide)])).toMatchObject([{ remaining: 1_000_000 - MIN_HITS - 1 }])
  })

  it('never gets one as long as it comes seldom', async () => {
    const scene = new Scene(1, { minHits: MIN_HITS })
    for (let i = 0; i < 100; i++) {
      await ask(scene.nodes[0], charge(wide))
      scene.pass(700)
    }
    expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual([100, 0])
  })

  it('gives its slice back when it comes too seldom for it, and continues without', async () => {
    const scene = new Scene(1, { minHits: MIN_HITS })
    await spend(scene.nodes[0], charge(wide), 100)
    expect(scene.nodes[0].stats.slices).toBe(1)
    scene.pass(2_025)
    for (let i = 0; i < 4; i++) {
      await ask(scene.nodes[0], charge(wide))
      scene.pass(1_000)
    }
    expect(scene.nodes[0].stats).toMatchObject({ slices: 0, held: 0 })
    const { length } = scene.lender.exchanges
    for (let i = 0; i < 10; i++) {
      await ask(scene.nodes[0], charge(wide))
      scene.pass(1_000)
    }
    expect(scene.lender.exchanges).toHaveLength(length)
    expect(await ask(scene.nodes[0], charge(wide, 0))).toMatchObject({ remaining: 1_000_000 - 114 })
  })

  it('is decided by the store near the limit, where nothing is lent ahead, to the last hit', async () => {
    const scene = new Scene(1, { minHits: MIN_HITS })
    const limit = limitOf({ limit: 20 })
    for (let left = 19; left >= 0; left--)
      expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ remaining: left })
    expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ kind: 'refused' })
    expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual([21, 0])
    for (let i = 0; i < 20; i++) expect(scene.nodes[0].decide([charge(limit)])).toMatchObject([{ kind: 'refused' }])
    expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual([21, 0])
  })

  it('sees what other nodes hold, and calls it back', async () => {
    const scene = new Scene(2, { minHits: MIN_HITS })
    const limit = limitOf({ limit: 100 })
    await spend(scene.nodes[0], charge(limit), 10)
    expect(scene.nodes[0].stats.held).toBeGreaterThan(0)
    let admitted = await spend(scene.nodes[1], charge(limit), 200)
    for (let i = 0; i < 4; i++) {
      scene.pass(25)
      admitted += await spend(scene.nodes[1], charge(limit), 200)
    }
    expect(admitted).toBe(90)
    expect(await ask(scene.nodes[0], charge(limit))).toMatchObject({ kind: 'refused' })
  })

  it('with what a crashed node held gets the rest, and all of it when that is over', async () => {
    const scene = new Scene(2, { minHits: MIN_HITS, leaseMs: 2_000 })
    const limit = limitOf({ limit: 100, window: '10s', algorithm: 'sliding_log' })
    await spend(scene.nodes[0], charge(limit), 4)
    const out = scene.nodes[0].stats.held
    expect(out).toBeGreaterThan(0)
    scene.nodes.shift()
    expect(await spend(scene.nodes[0], charge(limit), 200)).toBe(96 - out)
    scene.pass(4_000 + 10_000)
    expect(await spend(scene.nodes[0], charge(limit), 200)).toBe(100)
  })
})

describe('a caller of an eventual rule', () => {
  const HITS = 16
  /** Lets a caller come so often in each interval of 100 ms, and returns how often it was not answered at once. */
  async function come(scene: Scene, one: Charge, perInterval: number, intervals: number): Promise<number> {
    let waited = 0
    for (let i = 0; i < intervals; i++)
      for (let hit = 0; hit < perInterval; hit++) {
        const before = scene.lender.decisions
        await ask(scene.nodes[0], one)
        waited += scene.lender.decisions - before
        scene.pass(100 / perInterval)
      }
    return waited
  }

  it.each([
    ['a large budget', wide],
    ['a small budget, of which leased rules take no slices', limitOf({ limit: 120, window: '1s' })],
  ])('has a slice from the hit that makes it pay on, and keeps it, with %s', async (_, limit) => {
    const scene = new Scene(1, { minHits: HITS })
    const one = charge(limit, 1, 'eventual')
    expect(await come(scene, one, 10, 50)).toBe(HITS - 1)
    // One for each interval, and the first.
    expect(scene.lender.exchanges.length).toBeLessThanOrEqual(50)
    expect(scene.nodes[0].stats.slices).toBe(1)
  })

  it('has none with one hit an interval, and gives it back when it comes no more often', async () => {
    const scene = new Scene(1, { minHits: HITS })
    const one = charge(wide, 1, 'eventual')
    expect(await come(scene, one, 1, 40)).toBe(40)
    expect(scene.lender.exchanges).toHaveLength(0)
    await come(scene, one, 10, 5)
    expect(scene.nodes[0].stats.slices).toBe(1)
    await come(scene, one, 1, 5)
    expect(scene.nodes[0].stats.slices).toBe(0)
    const { length } = scene.lender.exchanges
    expect(await come(scene, one, 1, 10)).toBe(10)
    expect(scene.lender.exchanges).toHaveLength(length)
    expect(await ask(scene.nodes[0], charge(wide, 0, 'eventual'))).toMatchObject({ remaining: 1_000_000 - 105 })
  })
})

describe('a group of two leased rules', () => {
  const group = (name: number | string): Charge[] => [
    charge(wide, 1, 'leased', `a${name}`),
    charge(hourly, 1, 'leased', `b${name}`),
  ]

  it('is one decision of the store, until both have slices', async () => {
    const scene = new Scene(1, { minHits: MIN_HITS })
    for (let i = 1; i < MIN_HITS; i++) await scene.nodes[0].decide(group(0))
    expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual([MIN_HITS - 1, 0])
    await scene.nodes[0].decide(group(0))
    const trips = tripsOf(scene)
    for (let i = 0; i < 3; i++)
      expect(scene.nodes[0].decide(group(0))).toMatchObject([{ allowed: true }, { allowed: true }])
    expect(tripsOf(scene)).toBe(trips)
  })

  it('is charged in all or in none, whichever of them slices are in the way of', async () => {
    const scene = new Scene(2, { minHits: MIN_HITS })
    const limit = limitOf({ limit: 60 })
    await spend(scene.nodes[0], charge(limit, 1, 'leased', 'a'), 8)
    const { held } = scene.nodes[0].stats
    expect(held).toBeGreaterThan(0)
    // Node 0 does not hear that its slice is called back.
    scene.nodes[0].tick = () => {}
    const both = [charge(limit, 1, 'leased', 'a'), charge(limit, 1, 'leased', 'b')]
    let admitted = 0
    for (let i = 0; i < 100; i++) {
      if ((await scene.nodes[1].decide(both)).every(({ allowed }) => allowed)) admitted++
      scene.pass(25)
    }
    await Promise.all(scene.nodes.map((node) => node.drain()))
    expect(admitted).toBe(52)
    expect(scene.lender.decideOne('b', limit, 0).remaining).toBe(60 - admitted)
    expect(scene.lender.decideOne('a', limit, 0).remaining).toBe(0)
  })
})

describe('the store is asked', () => {
  const one = (consistency: 'exact' | 'leased') => (n: number) => [charge(wide, 1, consistency, `k${n}`)]
  const two = (consistency: 'exact' | 'leased') => (n: number) => [
    charge(wide, 1, consistency, `a${n}`),
    charge(hourly, 1, consistency, `b${n}`),
  ]

  it.each([
    ['one rule', one],
    ['two rules', two],
  ])('as often as by exact rules when callers are cold, with %s', async (_, charges) => {
    const callers = uniform(20_000, 1_000_000)
    expect(await play(callers, 8_000, charges('leased'))).toBe(20_000)
    expect(await play(callers, 8_000, charges('exact'))).toBe(20_000)
  })

  it.each([
    ['one rule', one, 0.75],
    ['two rules', two, 0.85],
  ])('less often than by exact rules when some come often, with %s', async (_, charges, most) => {
    expect(await play(zipf(40_000, 1_000_000), 8_000, charges('leased'))).toBeLessThan(40_000 * most)
  })

  it('far less often when all come often', async () => {
    expect(await play(uniform(40_000, 20), 8_000, one('leased'))).toBeLessThan(40_000 / 20)
  })

  it('no more often than by exact rules when more come often than there is room for', async () => {
    const scene = new Scene(1, { minHits: MIN_HITS, maxKeys: 50 })
    for (let round = 0; round < 60; round++) {
      for (let n = 0; n < 200; n++) await ask(scene.nodes[0], charge(wide, 1, 'leased', `k${n}`))
      scene.pass(200)
    }
    expect(scene.nodes[0].stats.slices).toBeLessThanOrEqual(50)
    expect(tripsOf(scene)).toBeLessThan(60 * 200)
  })

  it('no more often than by exact rules by an eventual rule whose callers are cold', async () => {
    const eventual = (n: number): Charge[] => [charge(wide, 1, 'eventual', `k${n}`)]
    expect(await play(uniform(20_000, 1_000_000), 8_000, eventual)).toBe(20_000)
  })
})
