import { describe, expect, it } from 'vitest'
import { hitVerdict } from '../core/decision.ts'
import type { PlannedCharge } from '../engine/charge.ts'
import { HitDecisions, type HitLimit } from './hit-decisions.ts'

const LIMIT: HitLimit = { name: 'default', limit: 5, windowMs: 60_000 }

/** Decides about hits, and returns what the observer was told. */
function bench() {
  const received: PlannedCharge[] = []
  const decisions = new HitDecisions({ decided: (charges) => received.push(...charges) })
  const hit = (changes: Partial<HitLimit> = {}, key = 'a', hits = 1) => {
    const limit = { ...LIMIT, ...changes }
    return decisions.of(key, limit, hitVerdict(limit.limit, hits, 1_000), decisions.now())
  }
  return { hit, received }
}

describe('HitDecisions', () => {
  it('admits the last hit of a limit, and refuses the next', () => {
    const { hit } = bench()
    expect([5, 6].map((hits) => hit({}, 'a', hits).allowed)).toEqual([true, false])
  })

  it.each<[string, Partial<HitLimit>]>([
    ['amount', { limit: 6 }],
    ['window', { windowMs: 30_000 }],
    ['name', { name: 'other' }],
  ])('reports each hit under its own %s, whichever came before', (_, changes) => {
    const { hit, received } = bench()
    for (const each of [{}, changes, {}]) hit(each)
    const seen = received.map(({ rule }) => ({ name: rule.name, limit: rule.limit.max, windowMs: rule.limit.windowMs }))
    expect(seen).toEqual([LIMIT, { ...LIMIT, ...changes }, LIMIT])
  })

  it('has one rule for all hits of a limit', () => {
    const { hit, received } = bench()
    for (const [limit, key] of [
      [5, 'a'],
      [6, 'a'],
      [5, 'b'],
    ] as const)
      hit({ limit }, key)
    expect(received[2].rule).toBe(received[0].rule)
    expect(received.map(({ key, cost, entries }) => [key, cost, entries])).toEqual([
      ['a', 1, [{ key: 'key', value: 'a' }]],
      ['a', 1, [{ key: 'key', value: 'a' }]],
      ['b', 1, [{ key: 'key', value: 'b' }]],
    ])
  })

  it.each([
    [Number.NaN, 0],
    [-1, 0],
    [2.5, 2],
    [Number.POSITIVE_INFINITY, 4_294_967_295],
  ])('reports a limit of %d as %d', (limit, max) => {
    const { hit, received } = bench()
    hit({ limit })
    expect(received[0].rule.limit.max).toBe(max)
  })

  it('knows whether anybody listens', () => {
    expect([new HitDecisions(), new HitDecisions({ decided: () => {} })].map((each) => each.isObserved)).toEqual([
      false,
      true,
    ])
  })
})
