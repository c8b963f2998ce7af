import { expect, test } from 'vitest'
import { madeOf } from './fleet-text.ts'

test.each([
  [1, 0, 'Of one node'],
  [3, 0, 'Of 3 nodes'],
  [2, 1, 'Of 2 nodes, without 1 that does not answer'],
  [2, 4, 'Of 2 nodes, without 4 that do not answer'],
])('%d nodes without %d are described', (nodes, leftOut, expected) => {
  expect(madeOf({ nodes, nodes_left_out: leftOut })).toBe(expected)
})
