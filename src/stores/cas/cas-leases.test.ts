import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import type { Charge } from '../../engine/ports.ts'
import { LeasedStore } from '../leased/leased-store.ts'
import { CasStore } from './cas-store.ts'
import { MapEngine } from './map-engine.suite.ts'

const HOUR = compileLimit({ limit: 1_000, window: '1d', algorithm: 'sliding_log' })

function charge(consistency: 'leased' | 'eventual' | 'exact', cost = 1): Charge {
  const policy = {
    consistency,
    onStoreFailure: 'closed',
    localShare: 1,
    timeoutMs: 60_000,
    syncIntervalMs: 50,
  } as const
  return { key: 'shared', limit: HOUR, cost, enforce: true, policy }
}

const nodeOn = (engine: MapEngine, node: string): LeasedStore =>
  new LeasedStore(new CasStore(engine, { timeoutMs: 60_000 }), { node, minHits: 2, isTimed: false })

/** Spends all that a node gets. A slice that is out elsewhere is waited for by no one here. */
async function spend(node: LeasedStore, most: number): Promise<number> {
  let admitted = 0
  for (let i = 0; i < most; i++) if ((await node.decide([charge('leased')]))[0]?.allowed) admitted++
  return admitted
}

describe('slices of counters on compare-and-set', () => {
  it('are lent to several nodes, never more than the limit, and mostly answer without the engine', async () => {
    const engine = new MapEngine()
    const nodes = ['a', 'b', 'c'].map((name) => nodeOn(engine, name))
    const spent = await Promise.all(nodes.map((node) => spend(node, 600)))
    const admitted = spent.reduce((sum, each) => sum + each, 0)
    expect(admitted).toBeLessThanOrEqual(1_000)
    expect(admitted).toBeGreaterThan(700)
    const { decisions, asked } = nodes[0]?.stats ?? { decisions: 0, asked: 0 }
    expect(asked).toBeLessThan(decisions / 2)
    for (const node of nodes) await node.drain()
    const rest = new CasStore(engine, { timeoutMs: 60_000 })
    expect((await rest.decide([charge('exact', 0)]))[0]?.remaining).toBe(1_000 - admitted)
    for (const node of nodes) await node.close()
  })

  it('count as spent for a rule that is exact, and come back with what was not spent', async () => {
    const engine = new MapEngine()
    const node = nodeOn(engine, 'a')
    const exact = new CasStore(engine, { timeoutMs: 60_000 })
    await spend(node, 50)
    const { held } = node.stats
    expect(held).toBeGreaterThan(0)
    const asLeased = (await exact.decide([{ ...charge('leased'), cost: 0 }]))[0]?.remaining ?? 0
    expect(asLeased).toBeLessThanOrEqual(950 - held)
    await node.drain()
    expect((await exact.decide([charge('leased', 0)]))[0]?.remaining).toBe(950)
    await node.close()
  })
})
