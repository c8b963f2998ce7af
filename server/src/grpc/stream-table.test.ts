import { describe, expect, it } from 'vitest'
import type { ServerStream } from './server-stream.ts'
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

describe('the open streams of a table', () => {
  it('match a Map, whatever is opened and closed', () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
      return seed % below
    }
    const table = new StreamTable()
    const model = new Map<number, ServerStream>()
    for (let step = 0; step < 20_000; step++) {
      // Some are far apart, and would have the same slot.
      const id = 1 + 2 * (random(4) === 0 ? 64 * random(200) : random(300))
      const isFull = model.size > 100
      if (random(2) === 0 && !isFull) {
        const stream = { id } as ServerStream
        table.add(stream)
        model.set(id, stream)
      } else {
        table.close(id, Closure.ENDED)
        model.delete(id)
      }
      expect(table.size).toBe(model.size)
      expect(table.get(id)).toBe(model.get(id))
      if (step % 100 === 0) expect(new Set(table.values())).toEqual(new Set(model.values()))
    }
    for (const [id, stream] of model) expect(table.get(id)).toBe(stream)
  })
})
