import { ALGORITHM_NAMES } from 'sluice/internal/core/algorithms/algorithms'
import { describe, expect, it } from 'vitest'
import { noteOn, shareText } from './notes.ts'
import { DEFAULTS } from './settings.ts'
import { type LimitNumbers, mostWithin, type Result, simulate } from './simulate.ts'
import { BINS, MOST, PATTERNS, requestsOf, type Traffic } from './traffic.ts'

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0)
const run = (traffic: Traffic, numbers: Partial<LimitNumbers> = {}): Record<string, Result> =>
  Object.fromEntries(simulate(traffic, { ...DEFAULTS, ...numbers }).map((result) => [result.algorithm, result]))

const FULL: Traffic = [Array<number>(BINS).fill(MOST)]

describe('a simulation', () => {
  it('has each algorithm of the library, and decides about every request', () => {
    const asked = requestsOf(PATTERNS.storm.traffic).length
    const results = simulate(PATTERNS.storm.traffic, DEFAULTS)
    expect(results.map(({ algorithm }) => algorithm)).toEqual(ALGORITHM_NAMES)
    expect(results.map(({ admitted, refused }) => sum(admitted) + sum(refused))).toEqual(results.map(() => asked))
  })

  it('is the same each time', () => {
    expect(simulate(FULL, DEFAULTS)).toEqual(simulate(FULL, DEFAULTS))
  })

  it('has the fixed window admit twice the limit around an edge, and the log never more than the limit', () => {
    const { fixed_window: fixed, sliding_log: log } = run(PATTERNS.edge.traffic)
    expect([fixed.worstBurst, log.worstBurst]).toEqual([40, 20])
  })

  it('admits what stays below the limit, with every algorithm', () => {
    const results = Object.values(run(PATTERNS.steady.traffic, { limit: 100, atOnce: 10, burst: 100 }))
    expect(results.map(({ refused }) => sum(refused))).toEqual(results.map(() => 0))
  })

  it('has the leaky bucket go on evenly, at the rate of the limit', () => {
    const { leaky_bucket: leaky } = run(FULL, { limit: 10, windowMs: 10_000, burst: 5 })
    expect(leaky.longestDelayMs).toBeGreaterThan(3_000)
    expect(leaky.worstBurst).toBeLessThanOrEqual(11)
  })

  it('gives a permit back when its request is done', () => {
    const { concurrency } = run(FULL, { atOnce: 2, holdMs: 1_000 })
    // Two at a time, each for a second: never more than two a second, and two in the first.
    expect(concurrency.worstBurst).toBe(20)
    expect(sum(concurrency.admitted)).toBeGreaterThanOrEqual(110)
    expect(sum(concurrency.admitted)).toBeLessThanOrEqual(120)
  })

  it('has a greedy caller take from a slow one only where they share a counter', () => {
    const shared = run(PATTERNS.greedy.traffic, { limit: 20 })
    const own = run(PATTERNS.greedy.traffic, { limit: 20, isShared: false, atOnce: 20 })
    const slow = ({ callers: [{ asked, admitted }] }: Result): number => admitted / asked
    expect(slow(shared.sliding_log)).toBeLessThan(0.7)
    expect(Object.values(own).map(slow)).toEqual(Object.values(own).map(() => 1))
  })

  it('measures how long nothing was admitted', () => {
    const { fixed_window: fixed } = run([Array<number>(BINS).fill(2)], { limit: 4, windowMs: 10_000 })
    // Four requests in the first second of each window, then none until the next begins.
    expect(fixed.longestStopMs).toBeGreaterThan(8_500)
    expect(fixed.longestStopMs).toBeLessThan(9_500)
  })

  it('reports nothing without traffic', () => {
    for (const result of simulate([Array<number>(BINS).fill(0)], DEFAULTS)) {
      expect(result).toMatchObject({ worstBurst: 0, longestStopMs: 0, longestDelayMs: 0 })
    }
  })
})

describe('the most within a span', () => {
  it('does not count both ends', () => {
    expect([mostWithin([0, 10], 10), mostWithin([0, 9], 10), mostWithin([], 10)]).toEqual([1, 2, 0])
  })
})

describe('a note', () => {
  it('warns of an algorithm that lets more through than the limit', () => {
    const { fixed_window: fixed, sliding_log: log, concurrency } = run(PATTERNS.edge.traffic)
    expect(noteOn(fixed, DEFAULTS)).toEqual({
      text: 'Lets 40 through within 10 s: 2 times the limit.',
      isWarning: true,
    })
    expect(noteOn(log, DEFAULTS)).toEqual({ text: 'Never more than the limit in any 10 s.', isWarning: false })
    expect(noteOn(concurrency, DEFAULTS).text).toBe('Never more than 4 at the same time, however many that is in 10 s.')
  })
})

describe('a share', () => {
  it.each([
    [0, 0, '–'],
    [0, 9, '0 %'],
    [9, 9, '100 %'],
    [999, 1000, '99 %'],
    [1, 1000, '1 %'],
    [1, 2, '50 %'],
  ])('%d of %d is %s', (part, whole, text) => {
    expect(shareText(part, whole)).toBe(text)
  })
})
