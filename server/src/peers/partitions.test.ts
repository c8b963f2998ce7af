import { describe, expect, it } from 'vitest'
import { ownersOf, PEER_PARTITIONS, partitionOf } from './partitions.ts'
import { keyOf } from './peer-nodes.suite.ts'

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `node-${i}:8081`)
const moved = (before: readonly unknown[], after: readonly unknown[]): number =>
  before.filter((owner, at) => owner !== after[at]).length

describe('owners', () => {
  it('do not depend on the order of names, and there are none without names', () => {
    expect(ownersOf(names(5).toReversed())).toEqual(ownersOf(names(5)))
    expect(new Set(ownersOf([]))).toEqual(new Set([undefined]))
  })

  it.each([2, 3, 10, 50])('of %i nodes have about the same number of partitions', (count) => {
    const owners = ownersOf(names(count))
    const shares = names(count).map((name) => owners.filter((owner) => owner === name).length)
    expect(shares.reduce((all, share) => all + share, 0)).toBe(PEER_PARTITIONS)
    const mean = PEER_PARTITIONS / count
    // As chance would have it: five times the standard deviation.
    expect(Math.max(...shares)).toBeLessThanOrEqual(mean + 5 * Math.sqrt(mean))
  })

  it.each([1, 3, 10])('of %i nodes keep what the next node does not take', (count) => {
    const [before, after] = [ownersOf(names(count)), ownersOf(names(count + 1))]
    const last = `node-${count}:8081`
    expect(moved(before, after)).toBe(after.filter((owner) => owner === last).length)
    expect(moved(before, after)).toBeLessThanOrEqual((2 * PEER_PARTITIONS) / (count + 1))
  })
})

it('a partition is read out of a key, and callers are spread over all of them', () => {
  expect(partitionOf('sluice:{0}:api|k')).toBe(0)
  expect(partitionOf('sluice:{255}:api|k={7}')).toBe(255)
  const found = new Set(Array.from({ length: 5_000 }, (_, i) => partitionOf(keyOf(`caller ${i}`))))
  expect(found.size).toBe(PEER_PARTITIONS)
  expect(Math.max(...found)).toBe(PEER_PARTITIONS - 1)
})
