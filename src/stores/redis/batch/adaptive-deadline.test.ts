import { describe, expect, it } from 'vitest'
import { AdaptiveDeadline, DEADLINE_RANGE } from './adaptive-deadline.ts'

/** A deadline that has learned from `times`, each of one decision, at the time 0. */
function learned(...times: readonly (readonly [ms: number, calls: number])[]) {
  const changes: number[] = []
  const deadline = new AdaptiveDeadline(DEADLINE_RANGE, (ms) => changes.push(ms))
  for (const [ms, calls] of times) for (let i = 0; i < calls; i++) deadline.answered(ms, 1, 0)
  return { deadline, changes, at: (nowAt: number) => Math.round(deadline.timeoutMs(nowAt)) }
}

describe('a deadline that adapts', () => {
  it('is as long as it may be until a thousand answers are known', () => {
    const { deadline, at } = learned([0.3, 999])
    expect(at(0)).toBe(100)
    deadline.answered(0.3, 1, 10)
    expect(at(10)).toBe(5)
  })

  it('is not made shorter by calls with many decisions', () => {
    const { deadline, at } = learned()
    deadline.answered(0.3, 512, 0)
    deadline.answered(0.3, 512, 0)
    expect(at(0)).toBe(100)
  })

  it.each<[string, number, number]>([
    ['a server that answers within a millisecond', 0.9, 5],
    ['one that takes 4 ms', 4, 12],
    ['one that takes 8 ms', 8, 24],
    ['one in another region', 60, 100],
  ])('waits three times as long as %s takes', (_, ms, expected) => {
    expect(learned([ms, 2_000]).at(0)).toBe(expected)
  })

  it('goes by the slowest of a thousand decisions', () => {
    expect(learned([0.5, 9_990], [16, 10]).at(0)).toBe(5)
    expect(learned([0.5, 9_989], [16, 11]).at(0)).toBe(48)
  })

  it('counts decisions, not calls: those of a stall travel together', () => {
    const { deadline, at } = learned([0.5, 2_000])
    deadline.answered(16, 400, 0)
    expect(at(0)).toBe(48)
  })

  it('forgets what is older than three minutes, and a time without calls', () => {
    const { deadline, at } = learned([16, 1_000])
    expect(at(119_999)).toBe(48)
    for (let i = 0; i < 1_000; i++) deadline.answered(0.5, 1, 120_000)
    expect(at(120_000)).toBe(48)
    expect(at(180_000)).toBe(5)
    expect(at(10_000_000)).toBe(100)
  })

  it('doubles with each call that runs out of time, until the next answer', () => {
    const { deadline, at } = learned([0.5, 2_000])
    const waits = [at(0)]
    for (let i = 0; i < 6; i++) {
      deadline.timedOut(at(0), 0, 0)
      waits.push(at(0))
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 100, 100])
    deadline.answered(30, 1, 0)
    expect(at(0)).toBe(5)
  })

  it('is not doubled by two calls that ran out of the same time, nor by a rule that waits for less', () => {
    const { deadline, at } = learned([0.5, 2_000])
    deadline.timedOut(5, 1, 0)
    deadline.timedOut(5, 1, 0)
    deadline.timedOut(1, 1, 0)
    expect(at(0)).toBe(10)
  })

  it('learns from decisions that were never answered that they would have taken longer', () => {
    const { deadline, at } = learned([0.5, 2_000])
    deadline.timedOut(5, 300, 0)
    deadline.answered(0.5, 1, 0)
    expect(at(10)).toBe(17)
  })

  it('says when what it has learned changes, not while it doubles', () => {
    const { deadline, changes, at } = learned([0.5, 1_000])
    at(0)
    deadline.timedOut(5, 0, 0)
    at(100)
    expect(changes).toEqual([100, 5])
  })

  it('takes a clock that stands still, and times that make no sense', () => {
    const { deadline, at } = learned([0.5, 4_000])
    for (const ms of [0, -1, Number.MAX_VALUE, 1e9]) deadline.answered(ms, 1, 0)
    expect(at(0)).toBe(5)
  })
})
