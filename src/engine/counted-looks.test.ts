import { describe, expect, it } from 'vitest'
import { compileLimit } from '../core/limit.ts'
import { MemoryStore } from '../stores/memory/memory-store.ts'
import { CountedLooks } from './counted-looks.ts'
import type { Charge } from './ports.ts'

const HALF_A_MINUTE_MS = 1_704_067_230_000
const counting = compileLimit({ limit: 2, window: '1m', algorithm: 'fixed_window', countDenied: true })

function scene() {
  const store = new CountedLooks(new MemoryStore({ clock: { nowMs: () => HALF_A_MINUTE_MS } }))
  const ask = async (cost: number, limit = counting) => {
    const [{ kind, remaining, limit: max }] = await store.decide([{ key: 'a', limit, cost, enforce: true }])
    return `${kind} ${remaining} of ${max}`
  }
  return { store, ask }
}

describe('CountedLooks', () => {
  it('lets a look pass until hits went beyond the limit', async () => {
    const { ask } = scene()
    expect([await ask(0), await ask(1), await ask(0), await ask(1), await ask(0)]).toEqual([
      'allowed 2 of 2',
      'allowed 1 of 2',
      'allowed 1 of 2',
      'allowed 0 of 2',
      'allowed 0 of 2',
    ])
    expect([await ask(1), await ask(0)]).toEqual(['refused 0 of 2', 'refused 0 of 2'])
  })

  it('looks without charging, in a group too', async () => {
    const { store, ask } = scene()
    const charge = (key: string, cost: number): Charge => ({ key, limit: counting, cost, enforce: false })
    const verdicts = await store.decide([charge('a', 0), charge('b', 2), charge('a', 0)])
    expect(verdicts.map(({ remaining }) => remaining)).toEqual([2, 0, 2])
    expect(await ask(0)).toBe('allowed 2 of 2')
  })

  it('leaves hits and other limits alone', async () => {
    const { store } = scene()
    const plain = compileLimit({ limit: 2, window: '1m' })
    const inner = new MemoryStore({ clock: { nowMs: () => HALF_A_MINUTE_MS } })
    const charges: Charge[] = [{ key: 'p', limit: plain, cost: 0, enforce: true }]
    expect(await store.decide(charges)).toEqual(inner.decide(charges))
  })
})
