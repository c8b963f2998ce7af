import { afterEach, describe, expect, it, vi } from 'vitest'
import { exportAddress, exportAll } from './audit-export.ts'

/** pages has fetch answer one page after the other, each naming the next. */
function pages(...texts: readonly string[]): string[] {
  const asked: string[] = []
  vi.stubGlobal('fetch', async (address: string) => {
    const n = asked.push(address)
    const headers = n < texts.length ? { 'Sluice-Next-Cursor': `c${n}` } : undefined
    return new Response(texts[n - 1], headers && { headers })
  })
  return asked
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('an export', () => {
  it('has every page, and the titles once', async () => {
    const asked = pages('a,b\r\n1,2\r\n', 'a,b\r\n3,4\r\n', 'a,b\r\n5,6\r\n')
    const { parts, isWhole } = await exportAll({ kind: 'blocks' }, 'csv')
    expect([parts.join(''), isWhole]).toEqual(['a,b\r\n1,2\r\n3,4\r\n5,6\r\n', true])
    expect(asked.map((address) => new URL(address, 'http://x').searchParams.get('cursor'))).toEqual([null, 'c1', 'c2'])
  })

  it('of lines has them all', async () => {
    pages('{"a":1}\n', '{"a":2}\n')
    expect((await exportAll({}, 'jsonl')).parts.join('')).toBe('{"a":1}\n{"a":2}\n')
  })

  it('ends where a browser could hold no more, and says so', async () => {
    const asked = pages(...Array.from({ length: 300 }, () => 'x\n'))
    expect((await exportAll({}, 'jsonl')).isWhole).toBe(false)
    expect(asked).toHaveLength(200)
  })

  it('that is refused throws why', async () => {
    vi.stubGlobal('fetch', async () => Response.json({ code: 'X', detail: 'no' }, { status: 403 }))
    await expect(exportAll({}, 'csv')).rejects.toMatchObject({ status: 403, code: 'X', message: 'no' })
  })

  it('is a link, too', () => {
    expect(exportAddress({ customer_id: 'a&b' }, 'csv')).toBe(
      '/admin/v1/audit?customer_id=a%26b&format=csv&page_size=500',
    )
  })
})
