interface ListPage<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

export const LARGEST_PAGE = 500
const MOST_PAGES = 10

/** allPages reads a list to its end, or as much of it as a page can show. */
export async function allPages<T>(read: (cursor: string | undefined) => Promise<ListPage<T>>): Promise<readonly T[]> {
  const items: T[] = []
  let cursor: string | undefined
  for (let i = 0; i < MOST_PAGES; i++) {
    const page = await read(cursor)
    items.push(...page.items)
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  return items
}
