import { describe, expect, it } from 'vitest'
import { HeadCache } from './head-cache.ts'
import type { RequestHead } from './request-head.ts'

const headOf = (path: string): RequestHead => ({ path }) as unknown as RequestHead

/** Has a cache, and blocks that stand at another place each time. */
function scene() {
  const cache = new HeadCache()
  const at = (block: string): [Uint8Array, number, number] => {
    const bytes = Buffer.from(`..${block}.`)
    return [bytes, 2, bytes.length - 1]
  }
  const store = (block: string, version: number, head = headOf(block)): void => cache.store(...at(block), version, head)
  const find = (block: string, version: number): RequestHead | undefined => cache.find(...at(block), version)
  return { cache, store, find }
}

describe('a cache of heads', () => {
  it('recognises a block by its bytes, all of them', () => {
    const { store, find } = scene()
    const [one, other] = [headOf('/one'), headOf('/other')]
    store('one', 0, one)
    store('other', 0, other)
    for (let i = 0; i < 2; i++) expect([find('one', 0), find('other', 0)]).toEqual([one, other])
    for (const block of ['on', 'ones', 'onf', 'pne', '']) expect(find(block, 0)).toBeUndefined()
  })

  it('forgets what a block meant under another version of the table', () => {
    const { cache, store, find } = scene()
    const head = headOf('/one')
    store('one', 1)
    store('other', 1)
    expect(find('one', 2)).toBeUndefined()
    store('one', 2, head)
    expect([find('one', 2), find('other', 2), find('other', 1)]).toEqual([head, undefined, undefined])
    expect(cache.bytes).toBe(6)
  })

  it('keeps eight blocks, and counts what they take twice', () => {
    const { cache, store, find } = scene()
    for (let i = 0; i < 9; i++) store(`block ${i}`, 1)
    expect(find('block 0', 1)).toBeUndefined()
    for (let i = 1; i < 9; i++) expect(find(`block ${i}`, 1)).toEqual({ path: `block ${i}` })
    expect(cache.bytes).toBe(2 * 8 * 'block 0'.length)
  })

  it('keeps no block of more than 1,024 bytes', () => {
    const { store, find } = scene()
    const [largest, larger] = ['x'.repeat(1_024), 'x'.repeat(1_025)]
    for (const block of [largest, larger]) store(block, 1)
    expect([find(largest, 1) !== undefined, find(larger, 1)]).toEqual([true, undefined])
  })

  it('keeps its own copy of a block', () => {
    const { cache } = scene()
    const bytes = Buffer.from('one')
    cache.store(bytes, 0, 3, 1, headOf('/one'))
    bytes.fill('x')
    expect(cache.find(bytes, 0, 3, 1)).toBeUndefined()
  })
})
