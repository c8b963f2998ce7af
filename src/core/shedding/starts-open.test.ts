import { describe, expect, it } from 'vitest'
import { seededRandom } from '../algorithms/oracle.suite.ts'
import { ADAPTIVE, AdaptiveConcurrency } from './adaptive-concurrency.ts'
import type { Priority } from './priority.ts'

/** What a gateway does before an upstream of which its routes file says nothing. */
const law = () => new AdaptiveConcurrency({ ...ADAPTIVE, max: 256, startsOpen: true })

interface Phase {
  readonly seconds: number
  readonly perSecond: number
}

interface Second {
  readonly offered: number[]
  readonly tookMs: number[][]
}

/** An upstream that does one thing after the other, each for 10 ms: a hundred a second. It returns each second. */
function simulate(phases: readonly Phase[], seed: number): readonly Second[] {
  const adaptive = law()
  const random = seededRandom(seed)
  const found: Second[] = []
  const ends: { readonly atMs: number; readonly tookMs: number }[] = []
  let [nowMs, endMs, freeMs] = [0, 0, 0]
  for (const { seconds, perSecond } of phases) {
    endMs += seconds * 1_000
    for (; nowMs < endMs; nowMs += (-Math.log(1 - random()) * 1_000) / perSecond) {
      for (let end = ends[0]; end !== undefined && end.atMs <= nowMs; end = ends[0]) {
        adaptive.end(end.atMs, end.tookMs)
        ends.shift()
      }
      const dice = random()
      const priority: Priority = dice < 0.1 ? 0 : dice < 0.3 ? 1 : dice < 0.6 ? 2 : 3
      found[Math.floor(nowMs / 1_000)] ??= { offered: [0, 0, 0, 0], tookMs: [[], [], [], []] }
      const second = found[Math.floor(nowMs / 1_000)] as Second
      second.offered[priority]++
      if (!adaptive.begin(priority)) continue
      freeMs = Math.max(freeMs, nowMs) + 10
      ends.push({ atMs: freeMs, tookMs: freeMs - nowMs })
      second.tookMs[priority]?.push(freeMs - nowMs)
    }
  }
  return found
}

const servedIn = (seconds: readonly Second[]): number => seconds.flatMap(({ tookMs }) => tookMs.flat()).length
const longestOf = (seconds: readonly Second[], priority: Priority): number =>
  Math.max(...seconds.flatMap(({ tookMs }) => tookMs[priority] as number[]))

describe.each([1, 2, 3, 4, 5])('an upstream of which the file says nothing (seed %i)', (seed) => {
  it.each([
    ['in the middle of an overload', [{ seconds: 20, perSecond: 300 }]],
    [
      'before one',
      [
        { seconds: 20, perSecond: 50 },
        { seconds: 20, perSecond: 300 },
      ],
    ],
  ])('that is met %s serves what it can, in time', (_, phases) => {
    const overload = simulate(phases, seed).slice(-15)
    expect(servedIn(overload)).toBeGreaterThan(15 * 95)
    expect(longestOf(overload, 0)).toBeLessThan(300)
    expect(longestOf(overload, 3)).toBeLessThan(200)
    const criticals = overload.reduce((sum, { offered }) => sum + (offered[0] ?? 0), 0)
    expect(overload.flatMap(({ tookMs }) => tookMs[0]).length / criticals).toBeGreaterThan(0.95)
  })

  it('serves everything a second after an overload', () => {
    const after = simulate(
      [
        { seconds: 20, perSecond: 300 },
        { seconds: 10, perSecond: 40 },
      ],
      seed,
    ).slice(21)
    for (const { offered, tookMs } of after) expect(tookMs.map(({ length }) => length)).toEqual(offered)
  })
})

describe('an upstream whose answers take half a minute', () => {
  it('gets all requests that come, from the first one on', () => {
    const adaptive = law()
    const waiting: number[] = []
    let refused = 0
    for (let nowMs = 0; nowMs < 300_000; nowMs += 200) {
      while ((waiting[0] ?? Number.POSITIVE_INFINITY) + 30_000 <= nowMs) {
        adaptive.end(nowMs, 30_000)
        waiting.shift()
      }
      if (adaptive.begin(2)) waiting.push(nowMs)
      else refused++
    }
    expect([refused, waiting.length]).toEqual([0, 150])
  })

  it('gets no more than the most there may be, whether it answers or not', () => {
    const adaptive = law()
    while (adaptive.begin(2));
    expect(adaptive.inFlight).toBe(Math.floor(256 * 0.67))
    while (adaptive.begin(0));
    expect(adaptive.inFlight).toBe(256)
  })
})
