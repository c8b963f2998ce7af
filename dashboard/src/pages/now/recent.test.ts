import { describe, expect, it } from 'vitest'
import { frameAt } from './frame.suite.ts'
import { busiestRules, figuresOf } from './recent.ts'

describe('the figures at the head', () => {
  it('are not there before the first frame', () => {
    expect(figuresOf([])).toBeUndefined()
  })

  it('are means of the last five seconds, next to the means of the hour', () => {
    const frames = [...Array.from({ length: 15 }, (_, i) => frameAt(i, { allowed: 20 }))]
    frames.push(...Array.from({ length: 5 }, (_, i) => frameAt(20 + i, { allowed: 60, refused: 20 })))
    expect(figuresOf(frames)).toMatchObject({
      allowed: 60,
      refused: 20,
      refusedShare: 0.25,
      hourAllowed: 30,
      hourRefused: 5,
    })
  })

  it('know no share and no time where nothing was decided', () => {
    expect(figuresOf([frameAt(1)])).toMatchObject({ refusedShare: undefined, p50Ms: undefined, p99Ms: undefined })
  })

  it('have the worst p99, and no second without requests', () => {
    const frames = [
      frameAt(1, { allowed: 1, p50_ms: 2, p99_ms: 9 }),
      frameAt(2),
      frameAt(3, { allowed: 1, p50_ms: 4, p99_ms: 5 }),
    ]
    expect(figuresOf(frames)).toMatchObject({ p50Ms: 3, p99Ms: 9 })
  })
})

describe('the busiest rules', () => {
  const rule = (id: string, allowed: number, refused: number) => ({
    domain: 'api',
    id,
    name: id,
    allowed,
    refused,
    shadow_refused: 0,
  })

  it('are counted per second, the ones that refuse first', () => {
    const frames = [
      frameAt(1, { rules: [rule('quiet', 8, 0), rule('full', 2, 4)] }),
      frameAt(2, { rules: [rule('quiet', 4, 0)] }),
    ]
    expect(busiestRules(frames, 5).map(({ id, allowed, refused }) => [id, allowed, refused])).toEqual([
      ['full', 1, 2],
      ['quiet', 6, 0],
    ])
  })

  it('are no more than asked for', () => {
    const frames = [frameAt(1, { rules: Array.from({ length: 40 }, (_, i) => rule(`r${i}`, i, 0)) })]
    expect(busiestRules(frames, 8)).toHaveLength(8)
  })
})
