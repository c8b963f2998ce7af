import { expect, it } from 'vitest'
import { MemoryStore } from '../stores/hits/memory-store.ts'
import { HitGate } from './hit-gate.ts'

it.each([undefined, Number.NaN, 'many', {}, []])(
  'a limit that is no number is that of the library: %s',
  async (most) => {
    const store = new MemoryStore()
    store.init({ windowMs: 60_000 })
    const limit = (): number => most as number
    const gate = new HitGate<[]>({ windowMs: 60_000, limit, keyGenerator: () => 'k', skip: () => false, store })
    const used: boolean[] = []
    for (let i = 0; i < 7; i++) used.push(gate.decisionOf(await gate.count('k'), '', Date.now()).allowed)
    expect(used).toEqual([true, true, true, true, true, false, false])
    store.shutdown()
  },
)

it.each<[unknown, boolean[]]>([
  ['1', [true, false]],
  [Number.POSITIVE_INFINITY, [true, true]],
  [0, [false, false]],
])('a limit that compares as a number is one: %s', async (most, allowed) => {
  const store = new MemoryStore()
  store.init({ windowMs: 60_000 })
  const limit = (): number => most as number
  const gate = new HitGate<[]>({ windowMs: 60_000, limit, keyGenerator: () => 'k', skip: () => false, store })
  const decide = async (): Promise<boolean> => gate.decisionOf(await gate.count('k'), '', Date.now()).allowed
  expect([await decide(), await decide()]).toEqual(allowed)
  store.shutdown()
})
