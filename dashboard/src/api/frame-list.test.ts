import { describe, expect, it } from 'vitest'
import { withFrames } from './frame-list.ts'
import type { LiveFrame } from './operations.ts'

const frame = (second: number): LiveFrame => ({
  ...{ at: '', at_ms: second * 1_000, allowed: 1, refused: 0, shadow_refused: 0, p50_ms: 0, p99_ms: 0 },
  ...{ nodes: 1, nodes_away: 0, store: 'memory', database: 'none', rule_version: 'a' },
  // A quiet second now and then has none.
  rules:
    second % 7 === 0 ? [] : [{ domain: 'api', id: 'user', name: 'user', allowed: 1, refused: 0, shadow_refused: 0 }],
})
const seconds = (from: number, count: number) => Array.from({ length: count }, (_, i) => frame(from + i))

describe('the frames of the last hour', () => {
  it('are no more than an hour, the newest last', () => {
    const list = withFrames(seconds(1, 3_600), seconds(3_601, 2))
    expect([list.length, list[0].at_ms, list.at(-1)?.at_ms]).toEqual([3_600, 3_000, 3_602_000])
  })

  it('have rules in the last five minutes only, however they came', () => {
    const held = (list: readonly LiveFrame[]) => list.slice(0, -300).filter(({ rules }) => rules.length > 0).length
    expect(held(withFrames([], seconds(1, 1_000)))).toBe(0)
    let list = withFrames([], seconds(1, 400))
    for (let second = 401; second < 450; second++) list = withFrames(list, [frame(second)])
    expect(held(list)).toBe(0)
    expect(list.slice(-300).some(({ rules }) => rules.length > 0)).toBe(true)
  })

  it('leave the list before as it was', () => {
    const before = seconds(1, 400)
    withFrames(before, [frame(401)])
    expect(before[0].rules).toHaveLength(1)
  })
})
