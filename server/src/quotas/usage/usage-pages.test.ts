import { describe, expect, it } from 'vitest'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotasOn } from '../open/open-quotas.ts'
import type { UsageQuery } from '../tables/usage-store.ts'
import { UsagePages } from './usage-pages.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MIDNIGHT = 20_000 * DAY

describe.each(testDatabases)('usage that is read from %s', { timeout: SLOW_MS }, (_, make) => {
  async function open() {
    const now = () => MIDNIGHT + 40 * DAY
    const quotas = await quotasOn(await (await make()).open(), { now })
    const pages = new UsagePages(quotas.db)
    const count = (customerId: string, limit: string, atMs: number, allowed: number, keyId?: string) =>
      ({ customerId, limit, atMs, allowed, refused: 1, cost: allowed, keyId }) as const
    await quotas.usage.add({
      node: 'n',
      id: '1',
      counts: [
        count('acme', 'a', MIDNIGHT + HOUR, 1),
        count('acme', 'a', MIDNIGHT + HOUR, 2, 'k-1'),
        count('acme', 'b', MIDNIGHT + 23 * HOUR, 3),
        count('beta', 'a', MIDNIGHT + 23 * HOUR, 4),
        count('acme', 'a', MIDNIGHT + DAY, 5),
      ],
    })
    const all = async (query: Omit<UsageQuery, 'limit' | 'after'>, limit: number) => {
      const rows = []
      let after: string | undefined
      do {
        const page = await pages.read({ ...query, after, limit })
        rows.push(...page.items.map((row) => [row.customerId, row.limit, (row.atMs - MIDNIGHT) / HOUR, row.allowed]))
        after = page.next
      } while (after !== undefined)
      return rows
    }
    return { ...quotas, pages, all }
  }

  const TWO_DAYS = { fromMs: MIDNIGHT, toMs: MIDNIGHT + 2 * DAY }

  it.each([1, 2, 100])('is in order, all keys together, on pages of %i', async (limit) => {
    const { all, usage } = await open()
    expect(await all({ ...TWO_DAYS, granularity: 'hour' }, limit)).toEqual([
      ['acme', 'a', 1, 3],
      ['acme', 'b', 23, 3],
      ['beta', 'a', 23, 4],
      ['acme', 'a', 24, 5],
    ])
    const days = [
      ['acme', 'a', 0, 3],
      ['acme', 'b', 0, 3],
      ['beta', 'a', 0, 4],
      ['acme', 'a', 24, 5],
    ]
    expect(await all({ ...TWO_DAYS, granularity: 'day' }, limit)).toEqual(days)
    await usage.rollUp()
    expect(await all({ ...TWO_DAYS, granularity: 'day' }, limit)).toEqual(days)
  })

  it('is of one customer, and of the time that was asked for', async () => {
    const { all } = await open()
    const toMs = MIDNIGHT + DAY
    expect(await all({ fromMs: MIDNIGHT, toMs, customerId: 'beta', granularity: 'hour' }, 9)).toEqual([
      ['beta', 'a', 23, 4],
    ])
    expect(await all({ fromMs: MIDNIGHT + 2 * HOUR, toMs, customerId: 'acme', granularity: 'hour' }, 9)).toEqual([
      ['acme', 'b', 23, 3],
    ])
    expect(await all({ fromMs: MIDNIGHT, toMs, customerId: 'acme', granularity: 'day' }, 9)).toEqual([
      ['acme', 'a', 0, 3],
      ['acme', 'b', 0, 3],
    ])
  })
})
