import { expect, it } from 'vitest'
import type { Store } from '../../engine/ports.ts'
import { LeasedStore } from '../leased/leased-store.ts'
import { plainStore } from '../leased/scene.suite.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import { canLend, lenderOf, NO_LENDER } from './can-lend.ts'
import { lending } from './lending.ts'

const plain = plainStore(new MemoryStore())

it.each<[string, Store, boolean]>([
  ['a memory store with books', new MemoryStore({ lending: lending() }), true],
  ['a memory store without', new MemoryStore(), false],
  ['a leased store on one that lends', new LeasedStore(new MemoryStore({ lending: lending() })), true],
  ['a store without slices', plain, false],
  ['a leased store on that', new LeasedStore(plain), false],
  ['a leased store on a leased store on that', new LeasedStore(new LeasedStore(plain)), false],
])('of %s it is known whether it can lend', (_, store, expected) => {
  expect(canLend(store)).toBe(expected)
  expect(lenderOf(store)).toBe(expected ? store : NO_LENDER)
})
