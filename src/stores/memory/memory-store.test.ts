import { describe, expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import { storeSuite } from '../store.suite.ts'
import { MemoryStore } from './memory-store.ts'

storeSuite('memory store', async ({ startMs }) => {
  let nowMs = startMs
  const store = new MemoryStore({ clock: { nowMs: () => nowMs } })
  return {
    store,
    setNowMs: (next) => {
      nowMs = next
    },
    close: async () => store.close(),
  }
})

describe('memory store', () => {
  const limit = compileLimit({ limit: 10, window: '1m' })

  it('answers with plain values, never with promises', () => {
    const store = new MemoryStore()
    const charge = { key: 'k', limit, cost: 1, enforce: true }
    expect(store.decideOne('k', limit, 1)).toMatchObject({ kind: 'allowed', remaining: 9 })
    expect(store.decide([charge])).toMatchObject([{ kind: 'allowed', remaining: 8 }])
    expect(store.acquire([charge])).toMatchObject({ verdicts: [{ remaining: 7 }], permits: { held: [] } })
    expect(store.reset('k', limit)).toBeUndefined()
  })

  it('decides about one charge as about a group of one', () => {
    const clock = { nowMs: () => 1_780_000_000_000 }
    const [one, group] = [new MemoryStore({ clock }), new MemoryStore({ clock })]
    for (const cost of [1, 4, 0, 7, -2, 5, 1, 11, 2]) {
      expect([one.decideOne('k', limit, cost)]).toEqual(group.decide([{ key: 'k', limit, cost, enforce: true }]))
    }
  })

  it('reveals neither what it holds nor where from one store to the next', () => {
    const [one, two] = [new MemoryStore(), new MemoryStore()]
    one.decideOne('k', limit, 10)
    expect(two.decideOne('k', limit, 0).remaining).toBe(10)
  })

  it('keeps its books in order on a clock that has fractions of a millisecond', () => {
    let nowMs = 0.875
    const store = new MemoryStore({ maxKeys: 4, clock: { nowMs: () => nowMs } })
    const log = compileLimit({ algorithm: 'sliding_log', limit: 3, window: 10 })
    const bucket = compileLimit({ algorithm: 'token_bucket', limit: 3, window: 10 })
    for (let i = 0; i < 1_000; i++, nowMs += 0.625) {
      store.decideOne(`log:${i % 7}`, log, 1)
      store.decideOne(`bucket:${i % 5}`, bucket, 1)
    }
    expect(store.stats.keys).toBeLessThanOrEqual(4 + 64 * 2)
  })

  it.each([0, -1, 1.5, Number.NaN, 67_108_865])('does not take %d as maxKeys', (maxKeys) => {
    expect(() => new MemoryStore({ maxKeys })).toThrow(
      `MAX_KEYS_INVALID: maxKeys: got ${maxKeys}. maxKeys must be a whole number from 1 to 67108864.`,
    )
  })
})
