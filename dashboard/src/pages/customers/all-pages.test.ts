import { expect, it } from 'vitest'
import { allPages } from './all-pages.ts'

it('a list is read to its end, each page from where the one before ended', async () => {
  const asked: (string | undefined)[] = []
  const items = await allPages(async (cursor) => {
    asked.push(cursor)
    return cursor === undefined ? { items: [1, 2], next_cursor: 'b' } : { items: [3], next_cursor: null }
  })
  expect(items).toEqual([1, 2, 3])
  expect(asked).toEqual([undefined, 'b'])
})

it('a list without end is read for ten pages', async () => {
  expect(await allPages(async () => ({ items: [0], next_cursor: 'again' }))).toHaveLength(10)
})
