import { expect, it } from 'vitest'
import { byWeight } from './by-weight.ts'

const from = (network: string, heldBytes: number) => ({ network, heldBytes })

it('the heaviest connections of the heaviest network come first', () => {
  const connections = [from('proxy', 100), from('crowd', 60), from('crowd', 70), from('proxy', 1)]
  expect(byWeight(connections)).toEqual([from('crowd', 70), from('crowd', 60), from('proxy', 100), from('proxy', 1)])
})

it('connections for which nothing is held are left out', () => {
  expect(byWeight([from('a', 0), from('b', 1)])).toEqual([from('b', 1)])
})
