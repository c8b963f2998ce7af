import { describe, expect, it } from 'vitest'
import type { SliceReply } from '../../engine/ports.ts'
import { lentCounter } from './lent-counter.ts'
import { limitOf, START_MS } from './scene.suite.ts'
import { Slice } from './slice.ts'

const LEASE_MS = 5_000
const REPLY: SliceReply = {
  isStale: false,
  held: 0,
  leaseMs: LEASE_MS,
  free: 500,
  holders: 1,
  resetAfterMs: 60_000,
  retryAfterMs: 0,
  lentRetryAfterMs: 0,
}

function newSlice() {
  let names = 0
  const options = { key: 'k', limit: limitOf(), leaseMs: LEASE_MS, syncMs: undefined, timeoutMs: 5 }
  return new Slice({ ...options, newName: () => `n${names++}` }, START_MS)
}

const ask = (slice: Slice, need: number, nowMs = START_MS, givesBack = false) =>
  slice.ask(nowMs, { need, cost: 1, timeoutMs: 5, givesBack })
const answer = (slice: Slice, reply: Partial<SliceReply>): void =>
  slice.answered({ ...REPLY, ...reply }, Number.POSITIVE_INFINITY)

describe('a slice', () => {
  it('spends nothing of an answer that the lender calls stale, and has the lender take back what it may hold', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { isStale: true, held: 100 })
    expect([slice.isAsking, slice.isKnown(START_MS), slice.take(1, START_MS)]).toEqual([false, false, false])
    expect([slice.isSettled, slice.owes]).toEqual([false, true])
  })

  it('has what it was lent, less what it spent since it asked', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 100 })
    expect(slice.take(30, START_MS)).toBe(true)
    expect(ask(slice, 0)).toMatchObject({ spent: 30, confirmed: 0, keep: 70, need: 0 })
    expect(slice.take(20, START_MS)).toBe(true)
    answer(slice, { held: 90 })
    expect(slice.inHand).toBe(70)
    expect(ask(slice, 75)).toMatchObject({ spent: 50, confirmed: 30, keep: 70, need: 5 })
  })

  it('ends a lease after it asked, not after the answer', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 100 })
    expect(slice.leaseLeftMs(START_MS)).toBe(LEASE_MS)
    expect(slice.take(1, START_MS + LEASE_MS)).toBe(false)
  })

  it('takes nothing back that the lender may have heard of', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 100 })
    slice.take(5, START_MS)
    ask(slice, 0)
    expect(slice.putBack(1, START_MS)).toBe(false)
    slice.take(2, START_MS)
    expect([slice.putBack(3, START_MS), slice.putBack(2, START_MS)]).toEqual([false, true])
  })

  it('may still be booked at the lender when no answer came', () => {
    const slice = newSlice()
    ask(slice, 10)
    slice.failed()
    expect([slice.owes, slice.isSettled]).toEqual([true, false])
    ask(slice, 0, START_MS, true)
    answer(slice, { held: 0 })
    expect([slice.owes, slice.isSettled]).toEqual([false, true])
  })

  it('listens no more to an answer that was asked for under another limit, and forgets its refusals', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 0, free: 0, retryAfterMs: 1_000 })
    expect(slice.isRefused(1, START_MS + 999)).toBe(true)
    const request = ask(slice, 10)
    slice.change(limitOf({ limit: 2_000 }))
    expect([slice.isCurrent(request), slice.isAsking, slice.isRefused(1, START_MS)]).toEqual([false, false, false])
  })

  it('knows a cost to be refused, and no smaller one, until the lender says otherwise', () => {
    const slice = newSlice()
    slice.ask(START_MS, { need: 10, cost: 10, timeoutMs: 5, givesBack: false })
    answer(slice, { held: 4, free: 3, retryAfterMs: 1_000 })
    expect([9, 10].map((cost) => slice.isRefused(cost, START_MS))).toEqual([false, true])
    slice.ask(START_MS, { need: 10, cost: 10, timeoutMs: 5, givesBack: false })
    answer(slice, { held: 4, free: 10 })
    expect(slice.isRefused(10, START_MS)).toBe(false)
  })

  it('reports the rest of the budget only while it is the only holder', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 100 })
    expect(slice.verdict(true, START_MS).remaining).toBe(600)
    slice.join()
    expect(slice.verdict(true, START_MS).remaining).toBe(100)
    expect(slice.verdict(true, START_MS, true).remaining).toBe(600)
  })

  it('keeps what it lent to others when its limit changes, and nothing of them when it begins again', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 100 })
    const request = { ...ask(newSlice(), 30), holder: 'other', ahead: 0, confirmed: 0, keep: 0 }
    slice.lent.exchange(request, START_MS, lentCounter(slice, START_MS))
    expect([slice.lent.out, slice.inHand]).toEqual([30, 70])
    slice.change(limitOf({ limit: 2_000 }))
    expect([slice.lent.out, slice.inHand]).toEqual([30, 0])
    expect(ask(slice, 0)).toMatchObject({ keep: 30 })
    slice.restart(START_MS)
    expect([slice.lent.out, slice.inHand]).toEqual([0, 0])
  })

  it('asks soon again for what others hold, and says when there is budget in any case', () => {
    const slice = newSlice()
    ask(slice, 10)
    answer(slice, { held: 0, free: 0, holders: 2, lentRetryAfterMs: 3_000 })
    expect([24, 25].map((ms) => slice.isRefused(1, START_MS + ms))).toEqual([true, false])
    expect(slice.verdict(false, START_MS)).toMatchObject({ retryAfterMs: 3_000 })
  })

  it('is the second to hold something where the lender was not known to believe it before', () => {
    const slice = newSlice()
    ask(slice, 10)
    slice.failed()
    ask(slice, 10)
    answer(slice, { held: 100, holders: 2 })
    expect(slice.isSecond).toBe(true)
    ask(slice, 10)
    answer(slice, { held: 100, holders: 2 })
    expect(slice.isSecond).toBe(false)
  })
})
