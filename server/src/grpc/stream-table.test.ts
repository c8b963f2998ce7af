import { expect, it } from 'vitest'
import { Closure, StreamTable } from './stream-table.ts'

it('streams that the client has not opened are idle, and so are all with even numbers', () => {
  const table = new StreamTable()
  table.lastId = 5
  expect([1, 2, 5, 6, 7].map((id) => table.isIdle(id))).toEqual([false, true, false, true, true])
})

it('how the last streams ended is remembered, and the oldest forgotten', () => {
  const table = new StreamTable()
  expect(table.closureOf(1)).toBe(Closure.FORGOTTEN)
  for (let id = 1; id < 400; id += 2) table.close(id, id % 4 === 1 ? Closure.ENDED : Closure.RESET_BY_CLIENT)
  expect(table.closureOf(1)).toBe(Closure.FORGOTTEN)
  expect(table.closureOf(399 - 2 * 128)).toBe(Closure.FORGOTTEN)
  expect(table.closureOf(399 - 2 * 127)).toBe(Closure.ENDED)
  expect(table.closureOf(399)).toBe(Closure.RESET_BY_CLIENT)
})

it('a stream that we reset afterwards counts as reset by us', () => {
  const table = new StreamTable()
  table.close(1, Closure.RESET_BY_CLIENT)
  table.markReset(1)
  table.markReset(3)
  expect([1, 3].map((id) => table.closureOf(id))).toEqual([Closure.RESET_BY_US, Closure.RESET_BY_US])
})
