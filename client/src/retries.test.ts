import { describe, expect, it } from 'vitest'
import { Accepts } from './accepts.ts'
import { jittered, RetryBudget } from './retries.ts'

describe('RetryBudget', () => {
  it('has retries be a share of the calls, after those that were saved up', () => {
    const budget = new RetryBudget()
    let taken = 0
    for (let i = 0; i < 1_000; i++) {
      budget.called(0.2)
      while (budget.take()) taken++
    }
    expect(taken).toBeGreaterThanOrEqual(200)
    expect(taken).toBeLessThanOrEqual(300)
  })

  it('saves up no more than it may', () => {
    const budget = new RetryBudget()
    for (let i = 0; i < 1_000; i++) budget.called(0.5)
    expect(Array.from({ length: 120 }, () => budget.take()).filter(Boolean)).toHaveLength(100)
  })
})

describe('jittered', () => {
  it('adds at most a tenth, and at most a second; it takes nothing off', () => {
    expect(jittered(1_000, 0)).toBe(1_000)
    expect(jittered(1_000, 1)).toBe(1_100)
    expect(jittered(3_600_000, 1)).toBe(3_601_000)
  })
})

describe('Accepts', () => {
  /** The share of calls that are dropped at a time, asked with chances spread evenly. */
  const dropped = (accepts: Accepts, atMs: number): number => {
    let count = 0
    for (let i = 0; i < 100; i++) if (!accepts.mayGo(atMs, i / 100)) count++
    return count
  }

  it('drops nothing while at least half is accepted', () => {
    const accepts = new Accepts()
    for (let i = 0; i < 100; i++) {
      expect(accepts.mayGo(0, 0)).toBe(true)
      if (i % 2 === 0) accepts.accepted(0)
    }
  })

  it('drops by (requests - 2 accepts) / (requests + 1)', () => {
    const accepts = new Accepts()
    for (let i = 0; i < 99; i++) accepts.mayGo(0, 1)
    for (let i = 0; i < 10; i++) accepts.accepted(0)
    expect(accepts.mayGo(0, 0.78)).toBe(false)
    expect(accepts.mayGo(0, 0.8)).toBe(true)
  })

  it('forgets after two minutes', () => {
    const accepts = new Accepts()
    for (let i = 0; i < 1_000; i++) accepts.mayGo(0, 1)
    expect(dropped(accepts, 59_000)).toBeGreaterThan(90)
    expect(accepts.mayGo(240_000, 0)).toBe(true)
  })
})
