import { describe, expect, it } from 'vitest'
import { ask, charge, limitOf, Scene } from './scene.suite.ts'

describe('a flood', () => {
  const MOST = 1_000
  const FLOOD = 100_000

  it.each(['exact', 'leased', 'eventual'] as const)(
    'of new keys is held in bounded memory, and a busy caller is answered immediately through all of it (%s)',
    async (consistency) => {
      const scene = new Scene(1, { maxKeys: MOST })
      const [node] = scene.nodes
      const busy = charge(limitOf({ limit: 10_000_000 }), 1, 'leased', 'busy')
      const one = limitOf({ limit: 1 })
      await ask(node, busy)
      let waited = 0
      for (let i = 0; i < FLOOD; i++) {
        await ask(node, charge(one, 1, consistency, `flood:${i}`))
        if (node.decide([busy]) instanceof Promise) waited++
        if (i % 1_700 === 0) scene.pass(100)
      }
      const { slices, refusals } = node.stats
      expect(slices).toBeLessThanOrEqual(2 * MOST)
      expect(refusals).toBeLessThanOrEqual(MOST)
      expect(waited).toBeLessThan(FLOOD / 1_000)
    },
  )

  it.each(['exact', 'leased', 'eventual'] as const)(
    'on one key that is refused costs the store nothing (%s)',
    async (consistency) => {
      const scene = new Scene()
      const [node] = scene.nodes
      const one = charge(limitOf({ limit: 1, algorithm: 'fixed_window', window: '1h' }), 1, consistency)
      for (let i = 0; i < 5; i++) {
        await ask(node, one)
        scene.pass(200)
      }
      const before = [scene.lender.decisions, scene.lender.exchanges.length]
      let asked = 0
      for (let i = 0; i < 100_000; i++) if (node.decide([one]) instanceof Promise) asked++
      expect(asked).toBe(0)
      expect([scene.lender.decisions, scene.lender.exchanges.length]).toEqual(before)
      expect(node.stats.refusedHere).toBeGreaterThanOrEqual(100_000)
    },
  )
})
