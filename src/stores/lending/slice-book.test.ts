import { expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import type { SliceRequest } from '../../engine/ports.ts'
import { type BookedCounter, SliceBook } from './slice-book.ts'

const limit = compileLimit({ algorithm: 'fixed_window', limit: 10, window: 60_000 })

/** A counter without a window, which records its charges. Its times differ for each cost, and are never 0. */
function counterOf(budget: number) {
  const charges: [number, number][] = []
  const used = () => charges.reduce((sum, [cost]) => sum + cost, 0)
  const counter: BookedCounter = {
    look: (cost) => ({
      remaining: Math.max(0, budget - used()),
      resetAfterMs: 10 * (used() + cost),
      retryAfterMs: 1000 + used() + cost,
    }),
    charge: (cost, nowMs) => charges.push([cost, nowMs]),
  }
  return { counter, charges }
}

const LEASE_MS = 1000
const BASE: SliceRequest = {
  ...{ key: 'k', limit, holder: 'a', sequence: 1, spent: 0, confirmed: 0, keep: 0, need: 0, ahead: 0, cost: 1 },
  ...{ leaseMs: LEASE_MS, timeoutMs: 100 },
}

function scene(budget: number) {
  const { counter, charges } = counterOf(budget)
  const book = new SliceBook()
  const ask = (request: Partial<SliceRequest>, nowMs = 0) => book.exchange({ ...BASE, ...request }, nowMs, counter)
  return { book, counter, charges, ask }
}

it('lends what is needed, as far as there is budget', () => {
  const { book, charges, ask } = scene(10)
  expect(ask({ need: 4 })).toEqual({
    ...{ isStale: false, held: 4, leaseMs: LEASE_MS, free: 6, holders: 1, resetAfterMs: 40 },
    ...{ retryAfterMs: 0, lentRetryAfterMs: 0 },
  })
  expect(book.out).toBe(4)
  expect(ask({ holder: 'b', need: 20 })).toMatchObject({ held: 6, free: 0, holders: 2, resetAfterMs: 100 })
  expect(book.out).toBe(10)
  expect(charges).toEqual([])
})

it('returns when a cost fits, without and with what is lent, only where it does not fit now', () => {
  const { ask } = scene(10)
  expect(ask({ need: 7, cost: 3 })).toMatchObject({ free: 3, retryAfterMs: 0, lentRetryAfterMs: 0 })
  const short = ask({ sequence: 2, keep: 7, cost: 4 })
  expect(short).toMatchObject({ free: 3, retryAfterMs: 1004, lentRetryAfterMs: 1011 })
})

it('lends in advance a quarter of what remains, divided by the holders that have something', () => {
  const { ask } = scene(100)
  expect(ask({ need: 20, ahead: 50 }).held).toBe(40)
  expect(ask({ holder: 'b', need: 10, ahead: 50 }).held).toBe(16)
  expect(ask({ holder: 'idle' })).toMatchObject({ held: 0, holders: 3 })
  expect(ask({ holder: 'c', ahead: 2 }).held).toBe(2)
  // Its own 40 are more than its share; 2 are less than floor(80 / 12).
  expect(ask({ sequence: 2, keep: 40, ahead: 50 }).held).toBe(40)
  expect(ask({ sequence: 3, keep: 2, ahead: 50 })).toMatchObject({ held: 6, holders: 3 })
})

it('charges what a holder has spent since its last account, once', () => {
  const { book, charges, ask } = scene(20)
  ask({ need: 10 })
  expect(ask({ sequence: 2, spent: 4, keep: 6 }, 5)).toMatchObject({ held: 6, free: 10 })
  expect(ask({ sequence: 3, spent: 4, keep: 6 }, 6)).toMatchObject({ held: 6, free: 10 })
  expect(charges).toEqual([[4, 5]])
  expect(book.out).toBe(6)
})

it('lets a holder keep no more than it held and has not spent', () => {
  const { charges, ask } = scene(30)
  ask({ need: 6 })
  expect(ask({ sequence: 2, spent: 4, keep: 6 }, 1).held).toBe(2)
  expect(ask({ sequence: 3, spent: 16, keep: 3 }, 2).held).toBe(0)
  expect(charges).toEqual([
    [4, 1],
    [12, 2],
  ])
})

it.each([1, 2])('changes nothing for a request with the sequence %i after 2', (sequence) => {
  const { book, charges, ask } = scene(10)
  ask({ sequence: 2, need: 4 })
  expect(ask({ sequence, spent: 3, need: 5 })).toMatchObject({ isStale: true, held: 4, free: 6, holders: 1 })
  expect(book.out).toBe(4)
  expect(charges).toEqual([])
})

it('takes the account of a forgotten holder from what was confirmed, and lets it keep what there is', () => {
  const { charges, ask } = scene(20)
  expect(ask({ spent: 9, confirmed: 5, keep: 50 }, 7)).toMatchObject({ isStale: false, held: 16, free: 0 })
  expect(charges).toEqual([[4, 7]])
})

it('takes nothing from a holder that keeps more than remains', () => {
  const { counter, ask } = scene(10)
  ask({ need: 10 })
  counter.charge(5, 0)
  expect(ask({ sequence: 2, keep: 10, need: 3 })).toMatchObject({ held: 10, free: 0, resetAfterMs: 100 })
})

it('charges what was not accounted for when twice the lease is over, at the moment it ran out', () => {
  const { book, counter, charges, ask } = scene(10)
  ask({ need: 4 })
  book.settle(1999, counter)
  expect([charges, book.out, book.isEmpty]).toEqual([[], 4, false])
  book.settle(5000, counter)
  expect([charges, book.out, book.isEmpty]).toEqual([[[4, 2000]], 0, true])
})

it('charges several that ran out in the order in which they did, and nothing for one with nothing', () => {
  const { book, counter, charges, ask } = scene(10)
  ask({ need: 3, leaseMs: 1500 })
  ask({ holder: 'b', need: 2 })
  ask({ holder: 'c' })
  book.settle(3000, counter)
  expect(charges).toEqual([
    [2, 2000],
    [3, 3000],
  ])
  expect(book.isEmpty).toBe(true)
})

it('lets what is out run for as long as it had left when the clock is set back', () => {
  const { book, counter, charges, ask } = scene(10)
  ask({ need: 4 }, 10_000)
  expect(book.outAt(4000, counter)).toBe(4)
  expect(book.outAt(5999, counter)).toBe(4)
  expect(book.outAt(6000, counter)).toBe(0)
  expect(charges).toEqual([[4, 6000]])
})

it('forgets what is out without a charge', () => {
  const { book, counter, charges, ask } = scene(10)
  ask({ need: 4 })
  book.forget()
  expect([book.out, book.isEmpty, book.outAt(5000, counter)]).toEqual([0, true, 0])
  expect(charges).toEqual([])
})
