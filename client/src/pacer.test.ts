import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Cost, Pacer } from './pacer.ts'
import type { Budget } from './rate-limits.ts'

const budget = (parts: Partial<Budget>): Budget => ({
  name: 'default',
  unit: 'requests',
  limit: undefined,
  remaining: undefined,
  resetMs: undefined,
  windowMs: undefined,
  partition: undefined,
  ...parts,
})

const HOUR_MS = 3_600_000
const NOTHING = { budgets: [] }

/** told makes a pacer that has one answer. */
function pacerOf(...budgets: Partial<Budget>[]): Pacer {
  const pacer = new Pacer()
  answer(pacer, 0, ...budgets)
  return pacer
}

/** Sends a call and answers it at once. */
function answer(pacer: Pacer, atMs: number, ...budgets: Partial<Budget>[]): void {
  const cost = { requests: 1 }
  pacer.sent(atMs, cost)
  pacer.answered(atMs, cost, { budgets: budgets.map(budget) })
}

/** Sends what may go at a time, and returns the costs of what went, at most `most`. */
function sendAll(pacer: Pacer, atMs: number, most = 1_000): Cost[] {
  const sent: Cost[] = []
  while (sent.length < most && pacer.waitMs(atMs, { requests: 1 }) === 0) {
    const cost = { requests: 1 }
    pacer.sent(atMs, cost)
    sent.push(cost)
  }
  return sent
}

describe('a server that has just refused', () => {
  it('gets the remaining budget spread over the time for ten seconds, and as a burst after it', () => {
    const pacer = new Pacer()
    const cost = { requests: 1 }
    pacer.sent(0, cost)
    pacer.answered(0, cost, { budgets: [budget({ limit: 100, remaining: 0, resetMs: 100 })] }, true)
    answer(pacer, 1_000, { limit: 100, remaining: 100, resetMs: 59_000 })
    const spread = sendAll(pacer, 1_000)
    expect(spread.length).toBeLessThan(2)
    for (const each of spread) pacer.answered(1_000, each, NOTHING)
    expect(sendAll(pacer, 10_000).length).toBeGreaterThan(10)
  })
})

describe('a server of which nothing is known', () => {
  it('gets four calls, and one more with each round of answers', () => {
    const pacer = new Pacer()
    const first = sendAll(pacer, 0)
    expect(first).toHaveLength(4)
    for (const cost of first) pacer.answered(10, cost, NOTHING)
    const second = sendAll(pacer, 10)
    expect(second).toHaveLength(5)
    for (const cost of second) pacer.answered(20, cost, NOTHING)
    expect(sendAll(pacer, 20)).toHaveLength(6)
  })

  it('gets twice as many with each round once many were accepted', () => {
    const pacer = new Pacer()
    let most = 0
    for (let round = 0; round < 32; round++) {
      const sent = sendAll(pacer, round)
      most = sent.length
      for (const cost of sent) pacer.answered(round, cost, NOTHING)
    }
    expect(most).toBeGreaterThan(64)
  })

  it('gets no burst because of a budget for an hour', () => {
    const pacer = pacerOf({ limit: 5_000, remaining: 4_999, resetMs: 3_000_000 })
    expect(sendAll(pacer, 0).length).toBeLessThan(6)
    expect(sendAll(pacerOf({ limit: 5_000, remaining: 4_999, resetMs: 60_000 }), 0)).toHaveLength(1_000)
  })

  it('gets another call after a second without an answer', () => {
    const pacer = new Pacer()
    sendAll(pacer, 0)
    expect(pacer.waitMs(400, {})).toBe(600)
    expect(sendAll(pacer, 1_000)).toHaveLength(1)
  })

  it('gets nothing before the longest of several pauses is over', () => {
    const pacer = new Pacer()
    pacer.pause(0, 10_000)
    pacer.pause(1, 1_000)
    expect(pacer.waitMs(1, {})).toBe(9_999)
    pacer.pause(1, 20_000)
    expect(pacer.waitMs(1, {})).toBe(20_000)
  })

  it('gets one call after a refusal when the pause is over, and then half as many at a time', () => {
    const pacer = new Pacer()
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const all = sendAll(pacer, 0)
    expect(pacer.answered(10, all[0], NOTHING, true)).toBe(1_000)
    // Those that were in flight say nothing new.
    for (const cost of all.slice(1)) expect(pacer.answered(10, cost, NOTHING, true)).toBe(1_000)
    expect(pacer.waitMs(110, {})).toBe(900)
    const [probe, ...others] = sendAll(pacer, 1_010)
    expect(others).toEqual([])
    pacer.answered(1_020, probe, NOTHING)
    expect(sendAll(pacer, 1_020)).toHaveLength(2)
  })

  it('is sent no more for calls that failed', () => {
    const pacer = new Pacer()
    for (const cost of sendAll(pacer, 0)) pacer.failed(cost)
    expect(sendAll(pacer, 0)).toHaveLength(4)
  })
})

describe('a server that announces what remains', () => {
  it('gets a burst while more than half is left', () => {
    const pacer = pacerOf({ limit: 100, remaining: 100, resetMs: 60_000, windowMs: 60_000 })
    // Half of it, and the first of those that are spread.
    expect(sendAll(pacer, 0)).toHaveLength(51)
    expect(pacer.waitMs(0, {})).toBeGreaterThan(500)
  })

  it('gets what remains spread over the time until there is more', () => {
    const pacer = pacerOf({ limit: 100, remaining: 10, resetMs: 20_000 })
    let sent = 0
    for (let atMs = 0; atMs < 20_000; atMs += 10) sent += sendAll(pacer, atMs).length
    expect(sent).toBe(10)
    const half = pacerOf({ limit: 100, remaining: 10, resetMs: 20_000 })
    sent = 0
    for (let atMs = 0; atMs < 10_000; atMs += 10) sent += sendAll(half, atMs).length
    expect(sent).toBeGreaterThanOrEqual(5)
    expect(sent).toBeLessThanOrEqual(6)
  })

  it('gets nothing before the reset when nothing is left, then one call that asks', () => {
    const pacer = pacerOf({ limit: 100, remaining: 0, resetMs: 5_000 })
    expect(pacer.waitMs(0, {})).toBe(5_000)
    expect(pacer.waitMs(4_999, {}, false)).toBe(1)
    expect(sendAll(pacer, 5_000)).toHaveLength(1)
  })

  it('is asked by the strictest of several policies', () => {
    const pacer = pacerOf(
      { name: 'burst', limit: 10, remaining: 9, resetMs: 1_000 },
      { name: 'daily', limit: 1_000, remaining: 0, resetMs: 9_000 },
    )
    expect(pacer.waitMs(0, {})).toBe(9_000)
  })

  it('is not spread over the window before once there is a new one', () => {
    const pacer = pacerOf({ limit: 100, remaining: 1, resetMs: 600_000 })
    sendAll(pacer, 0)
    answer(pacer, 600_000, { limit: 100, remaining: 40, resetMs: 40_000 })
    expect(pacer.waitMs(600_000, {})).toBeLessThanOrEqual(1_000)
  })

  it('is not sent what is in flight twice over', () => {
    const pacer = new Pacer()
    const [first, ...others] = sendAll(pacer, 0)
    pacer.answered(0, first, { budgets: [budget({ limit: 10, remaining: 9, resetMs: 1_000 })] })
    expect(others).toHaveLength(3)
    // Nine are left; three of them may be taken by what is under way.
    let sent = 0
    for (let atMs = 0; atMs < 1_000; atMs++) sent += sendAll(pacer, atMs).length
    expect(sent).toBe(6)
  })

  it('takes of tokens what a call says, and nothing where it says nothing', () => {
    const tokens = { name: 'tokens', unit: 'tokens', limit: 1_000, remaining: 300, resetMs: 60_000 }
    expect(pacerOf(tokens).waitMs(0, { requests: 1 })).toBe(0)
    expect(pacerOf(tokens).waitMs(0, { requests: 1, tokens: 300 })).toBe(0)
    expect(pacerOf(tokens).waitMs(0, { requests: 1, tokens: 301 })).toBe(60_000)
  })

  it('gets a call that costs more than the limit once the whole budget is there', () => {
    const pacer = pacerOf({ limit: 10, remaining: 10, resetMs: 1_000 })
    expect(pacer.waitMs(0, { requests: 50 })).toBe(0)
  })

  it('gets the calls of who is not patient as long as there is budget', () => {
    const pacer = pacerOf({ limit: 100, remaining: 2, resetMs: 60_000 })
    sendAll(pacer, 0, 1)
    expect(pacer.waitMs(0, {})).toBeGreaterThan(1_000)
    expect(pacer.waitMs(0, {}, false)).toBe(0)
  })
})

describe('a server that announces half of it', () => {
  it('is not held to a limit without a window', () => {
    expect(pacerOf({ limit: 1 }).isPaced).toBe(false)
  })

  it('is held to the rate of a policy alone, window after window', () => {
    const pacer = pacerOf({ limit: 10, windowMs: 1_000 })
    let sent = 0
    for (let atMs = 0; atMs < 10_000; atMs += 10) {
      for (const cost of sendAll(pacer, atMs)) {
        pacer.answered(atMs, cost, { budgets: [budget({ limit: 10, windowMs: 1_000 })] })
        sent++
      }
    }
    expect(sent).toBeGreaterThanOrEqual(90)
    expect(sent).toBeLessThanOrEqual(111)
  })

  it('is asked a window later where it announces the window and no reset', () => {
    const pacer = pacerOf({ limit: 100, remaining: 1, windowMs: 10_000 })
    answer(pacer, 4_000, { limit: 100, remaining: 0, windowMs: 10_000 })
    expect(pacer.waitMs(4_000, {})).toBe(6_000)
  })

  it('is asked a second later where it announces no time at all', () => {
    expect(pacerOf({ limit: 40, remaining: 0 }).waitMs(0, {})).toBe(1_000)
  })

  it('is free again when it stops announcing', () => {
    const pacer = pacerOf({ limit: 100, remaining: 0, resetMs: 1_000 })
    const [asks] = sendAll(pacer, 1_000)
    pacer.answered(1_000, asks, NOTHING)
    expect(pacer.isPaced).toBe(false)
    expect(sendAll(pacer, 1_000).length).toBeGreaterThan(1)
  })

  it('gets a second call that asks when the first gets no answer', () => {
    const pacer = pacerOf({ limit: 100, remaining: 0, resetMs: 1_000 })
    sendAll(pacer, 1_000)
    expect(pacer.waitMs(1_500, {})).toBe(500)
    expect(pacer.waitMs(2_000, {})).toBe(0)
  })
})

describe('a server that lies', () => {
  it('is asked again after an hour, whatever it says', () => {
    const pacer = pacerOf({ limit: 1, remaining: 0, resetMs: 2 ** 31 - 1 })
    expect(pacer.waitMs(0, {})).toBe(HOUR_MS)
    expect(pacer.waitMs(HOUR_MS, {})).toBe(0)
    const paused = new Pacer()
    const cost = { requests: 1 }
    paused.sent(0, cost)
    paused.answered(0, cost, { budgets: [], retryAfterMs: 2 ** 31 - 1 }, true)
    expect(paused.waitMs(0, {})).toBe(HOUR_MS)
  })

  it('fills no memory with policies of new names', () => {
    const pacer = new Pacer()
    const limit = 1_000_000
    for (let i = 0; i < 1_000; i++) answer(pacer, 0, { name: `policy ${i}`, limit, remaining: limit, resetMs: 1_000 })
    // The first 32 count; one that none of them knows changes nothing.
    answer(pacer, 0, { name: 'another', limit: 10, remaining: 0, resetMs: 1_000 })
    expect(pacer.waitMs(0, {}, false)).toBe(0)
    answer(pacer, 1_000)
    expect(pacer.isPaced).toBe(false)
  })

  it('never has a call wait for longer than an hour, and never for NaN', () => {
    const amount = fc.option(fc.oneof(fc.nat(), fc.double({ min: 0, max: 2 ** 53, noNaN: true })), { nil: undefined })
    const budgets = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b'),
        limit: amount,
        remaining: amount,
        resetMs: amount,
        windowMs: amount,
      }),
      { maxLength: 3 },
    )
    const step = fc.record({ afterMs: fc.nat(5_000), budgets, cost: fc.nat(20), fails: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const pacer = new Pacer()
        let atMs = 0
        for (const { afterMs, budgets: all, cost, fails } of steps) {
          atMs += afterMs
          const sent = { requests: cost }
          const waitMs = pacer.waitMs(atMs, sent)
          expect(waitMs).toBeGreaterThanOrEqual(0)
          expect(waitMs).toBeLessThanOrEqual(HOUR_MS)
          expect(pacer.leastMs(atMs, sent)).toBeGreaterThanOrEqual(0)
          pacer.sent(atMs, sent)
          if (fails) pacer.failed(sent)
          else pacer.answered(atMs, sent, { budgets: all.map(budget) })
        }
      }),
    )
  })
})
