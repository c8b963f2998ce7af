import { expect, it } from 'vitest'
import { Lru } from './lru.ts'

it('an Lru returns what it was given, and undefined for what it was not', () => {
  const lru = new Lru<string, number>(2)
  lru.set('a', 1)
  expect([lru.get('a'), lru.get('b'), lru.size]).toEqual([1, undefined, 1])
})

it('an Lru lets go of what was not used for longest', () => {
  const lru = new Lru<string, number>(2)
  lru.set('a', 1)
  lru.set('b', 2)
  lru.get('a')
  lru.set('c', 3)
  expect([lru.get('a'), lru.get('b'), lru.get('c')]).toEqual([1, undefined, 3])
})

it('a value that is set again counts as used, and takes no second place', () => {
  const lru = new Lru<string, number>(2)
  lru.set('a', 1)
  lru.set('b', 2)
  lru.set('a', 3)
  lru.set('c', 4)
  expect([lru.get('a'), lru.get('b'), lru.get('c'), lru.size]).toEqual([3, undefined, 4, 2])
})

it('a value that is used now and then outlasts any number that are not', () => {
  const lru = new Lru<string, number>(100)
  lru.set('known', 1)
  let lost = 0
  for (let i = 0; i < 10_000; i++) {
    lru.set(`once ${i}`, i)
    if (i % 50 === 0 && lru.get('known') === undefined) lost++
  }
  expect([lost, lru.size]).toEqual([0, 100])
})

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('an Lru of %d is refused', (most) => {
  expect(() => new Lru(most)).toThrow(`the size of an Lru must be a whole number from 1, got ${most}`)
})
