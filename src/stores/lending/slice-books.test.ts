import { expect, it } from 'vitest'
import { storedKey } from '../../core/keys.ts'
import { compileLimit } from '../../core/limit.ts'
import type { SliceRequest } from '../../engine/ports.ts'
import type { BookedCounter } from './slice-book.ts'
import { SliceBooks } from './slice-books.ts'

const limit = compileLimit({ algorithm: 'fixed_window', limit: 10, window: 60_000 })
const other = compileLimit({ algorithm: 'fixed_window', limit: 10, window: 30_000 })

function scene() {
  const charges: [number, number][] = []
  const counter: BookedCounter = {
    look: () => ({ remaining: 10, resetAfterMs: 0, retryAfterMs: 0 }),
    charge: (cost, nowMs) => charges.push([cost, nowMs]),
  }
  const books = new SliceBooks()
  const ask = (request: Partial<SliceRequest>, nowMs = 0) => {
    const account = { holder: 'a', sequence: 1, spent: 0, confirmed: 0, keep: 0, need: 0, ahead: 0, cost: 1 }
    return books.exchange({ key: 'k', limit, leaseMs: 1000, timeoutMs: 100, ...account, ...request }, nowMs, counter)
  }
  return { books, charges, ask }
}

it('keeps one book for each key and shape of a limit', () => {
  const { books, ask } = scene()
  ask({ need: 3 })
  ask({ holder: 'b', need: 2 })
  ask({ key: 'l', need: 1 })
  ask({ limit: other, need: 4 })
  expect(books.size).toBe(3)
  expect([books.outOf('k', limit, 0), books.outOf('l', limit, 0), books.outOf('k', other, 0)]).toEqual([5, 1, 4])
  expect(books.outOf('l', other, 0)).toBe(0)
})

it('charges what ran out when it is asked how much is out', () => {
  const { books, charges, ask } = scene()
  ask({ need: 3 })
  expect(books.outOf('k', limit, 1999)).toBe(3)
  expect(books.outOf('k', limit, 2000)).toBe(0)
  expect(charges).toEqual([[3, 2000]])
})

it('forgets the book of one counter without a charge', () => {
  const { books, charges, ask } = scene()
  ask({ need: 3 })
  ask({ key: 'l', need: 1 })
  books.forget(storedKey('k', limit))
  expect([books.size, books.outOf('k', limit, 5000), books.outOf('l', limit, 0)]).toEqual([1, 0, 1])
  expect(charges).toEqual([])
})

it('closes two books that have ended with each exchange of another', () => {
  const { books, charges, ask } = scene()
  for (let i = 0; i < 10; i++) ask({ key: `ended ${i}`, need: 1 })
  expect(books.size).toBe(10)
  ask({ need: 2 }, 5000)
  expect(books.size).toBe(9)
  for (let sequence = 2; sequence <= 7; sequence++) ask({ sequence, need: 2 }, 5000)
  expect(books.size).toBe(1)
  expect(charges).toEqual(Array.from({ length: 10 }, () => [1, 2000]))
})

it('keeps books whose slices are not over', () => {
  const { books, charges, ask } = scene()
  for (let i = 0; i < 4; i++) ask({ key: `held ${i}`, need: 1 })
  for (let sequence = 1; sequence <= 9; sequence++) ask({ sequence }, 1999)
  expect([books.size, books.outOf('held 0', limit, 1999)]).toEqual([5, 1])
  expect(charges).toEqual([])
})
