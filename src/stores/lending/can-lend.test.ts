import { expect, it } from 'vitest'
import { compileLimit } from '../../core/limit.ts'
import type { SliceRequest, Store } from '../../engine/ports.ts'
import { LeasedStore } from '../leased/leased-store.ts'
import { plainStore } from '../leased/scene.suite.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import { canLend, lenderOf, NO_LENDER } from './can-lend.ts'
import { lending } from './lending.ts'
import { LendingMemoryStore } from './lending-memory-store.ts'

const plain = plainStore(new MemoryStore())

const REQUEST: SliceRequest = {
  ...{ key: 'k', limit: compileLimit({ limit: 1, window: '1m' }), holder: 'a', sequence: 1, spent: 0, confirmed: 0 },
  ...{ keep: 0, need: 1, ahead: 0, cost: 1, leaseMs: 1000, timeoutMs: 100 },
}

it.each<[string, Store, boolean]>([
  ['a memory store with books', new LendingMemoryStore(), true],
  ['a memory store without', new MemoryStore(), false],
  ['a leased store on one that lends', new LeasedStore(new LendingMemoryStore()), true],
  ['a store without slices', plain, false],
  ['a leased store on that', new LeasedStore(plain), false],
  ['a leased store on a leased store on that', new LeasedStore(new LeasedStore(plain)), false],
])('of %s it is known whether it can lend', (_, store, expected) => {
  expect(canLend(store)).toBe(expected)
  expect(lenderOf(store)).toBe(expected ? store : NO_LENDER)
})

it('lends nothing, and reports that no notice arrives, where nothing lends', () => {
  const heard: boolean[] = []
  const leave = NO_LENDER.listen({ connected: (is) => heard.push(is), noticed: () => {} })
  NO_LENDER.notify({ kind: 'clear', key: 'k' })
  leave()
  expect(heard).toEqual([false])
  expect(() => lenderOf(plain).exchange(REQUEST)).toThrow('store: unavailable: the store cannot lend')
})

it('reports that notices arrive within one process', () => {
  const heard: boolean[] = []
  lending().notices.listen({ connected: (is) => heard.push(is), noticed: () => {} })
  expect(heard).toEqual([true])
})
