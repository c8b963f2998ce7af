import { describe, expect, it } from 'vitest'
import { leastBusy, surplus } from './spread.ts'

describe('leastBusy', () => {
  it('picks none where there is none', () => {
    expect(leastBusy([])).toBeUndefined()
  })

  it('picks who has the fewest connections', () => {
    expect(leastBusy([{ open: 3 }, { open: 1 }, { open: 2 }])).toEqual({ open: 1 })
  })

  it('picks the first of several, who waited longest', () => {
    const takers = [
      { open: 2, id: 1 },
      { open: 1, id: 2 },
      { open: 1, id: 3 },
    ]
    expect(leastBusy(takers)?.id).toBe(2)
  })
})

describe('surplus', () => {
  it.each<[string, number[], number[]]>([
    ['none, where there is none', [], []],
    ['none, where all have the same', [2, 2], []],
    ['none, where one has one more', [3, 2], []],
    ['the one with more than a share', [4, 0], [2]],
    ['each separately', [9, 6, 1, 0], [5, 2]],
  ])('takes from %s', (_, open, counts) => {
    expect(surplus(open.map((count) => ({ open: count }))).map(({ count }) => count)).toEqual(counts)
  })
})
