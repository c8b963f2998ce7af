import { describe, expect, it } from 'vitest'
import { customer, key } from '../book/records.suite.ts'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotasOn } from '../open/open-quotas.ts'
import { SUPPORT } from '../records/record-store.suite.ts'
import type { UsageCount } from '../tables/usage-store.ts'
import { TierUsage } from './tier-usage.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOW = 20_000 * DAY + 12 * HOUR + 1_000_000

describe.each(testDatabases)('use by tier, on %s', { timeout: SLOW_MS }, (_, make) => {
  const count = (customerId: string, atMs: number, allowed: number, more: Partial<UsageCount> = {}): UsageCount => {
    return { customerId, limit: 'api/x', atMs, allowed, refused: 1, cost: 2 * allowed, ...more }
  }

  async function open() {
    const time = { nowMs: NOW }
    const quotas = await quotasOn(await (await make()).open(), { now: () => time.nowMs })
    for (const [id, tier] of [
      ['a', 'free'],
      ['b', 'free'],
      ['c', 'pro'],
      ['d', undefined],
    ] as const)
      await quotas.store.put('customers', customer(id, { tier }), SUPPORT)
    await quotas.store.put('api_keys', key('k-gold', 'a', { tier: 'gold' }), SUPPORT)
    const waiting: UsageCount[] = []
    const queries = { count: 0 }
    const reader = new TierUsage({
      db: {
        query: (sql, values) => {
          queries.count++
          return quotas.db.query(sql, values)
        },
      },
      waiting: () => waiting,
      completeUntilMs: async () => time.nowMs - 2_000,
      tierOf: (customerId) => (customerId === 'c' ? 'pro' : undefined),
      nowMs: () => time.nowMs,
    })
    const rows = async (period: '1h' | '24h' | '30d') => {
      const { tiers } = await reader.byTier(period)
      return tiers.map(({ tier = '-', customers, allowed, refused, cost }) => [tier, customers, allowed, refused, cost])
    }
    return { ...quotas, time, waiting, rows, reader, queries }
  }

  it('is added up as it is written, by the tier of the key or of the customer', async () => {
    const { usage, rows, reader } = await open()
    await usage.add({
      node: 'one',
      id: '1',
      counts: [
        count('a', NOW, 1),
        count('b', NOW - HOUR, 2, { limit: 'api/y' }),
        count('a', NOW, 4, { keyId: 'k-gold' }),
        count('c', NOW - 5 * HOUR, 8),
        count('c', NOW - 20 * DAY, 16),
        count('d', NOW, 32),
        count('gone', NOW, 64),
        count('c', NOW - 40 * DAY, 128),
      ],
    })
    await usage.add({ node: 'two', id: '1', counts: [count('a', NOW, 256)] })
    // Sent again, it counts once.
    await usage.add({ node: 'two', id: '1', counts: [count('a', NOW, 256)] })
    expect((await reader.byTier('1h')).sinceMs).toBe(20_000 * DAY + 11 * HOUR)
    expect(await rows('1h')).toEqual([
      ['free', 2, 259, 3, 518],
      ['-', 1, 96, 2, 192],
      ['pro', 1, 0, 0, 0],
      ['gold', 0, 4, 1, 8],
    ])
    expect((await rows('24h')).find(([tier]) => tier === 'pro')).toEqual(['pro', 1, 8, 1, 16])
    expect((await rows('30d')).find(([tier]) => tier === 'pro')).toEqual(['pro', 1, 24, 2, 48])
  })

  it('has what is not written yet, and asks the database once for many who look', async () => {
    const { usage, rows, waiting, queries, reader, time } = await open()
    await usage.add({ node: 'one', id: '1', counts: [count('c', NOW, 1)] })
    waiting.push(count('c', NOW, 10), count('new', NOW, 5), count('c', NOW - 9 * HOUR, 1_000))
    await Promise.all(Array.from({ length: 100 }, () => reader.byTier('1h')))
    expect(queries.count).toBe(1)
    const found = await rows('1h')
    expect(found.find(([tier]) => tier === 'pro')).toEqual(['pro', 1, 11, 2, 22])
    expect(found.find(([tier]) => tier === '-')).toEqual(['-', 1, 5, 1, 10])
    time.nowMs += 2_000
    await reader.byTier('1h')
    expect(queries.count).toBe(2)
  })

  it('is forgotten with the hours', async () => {
    const { usage, db } = await open()
    await usage.add({ node: 'one', id: '1', counts: [count('a', NOW - 36 * DAY, 1), count('a', NOW, 1)] })
    await usage.rollUp()
    expect(await db.query('SELECT count(*)::int AS count FROM sluice.usage_by_tier')).toEqual([{ count: 1 }])
  })

  it('does not make nodes wait for each other in a circle', async () => {
    const { usage, rows } = await open()
    const batch = (i: number) => ({
      node: `n${i}`,
      id: '1',
      counts: ['a', 'b', 'c', 'd'].sort(() => (i % 2 === 0 ? 1 : -1)).map((id) => count(id, NOW, 1)),
    })
    await Promise.all(Array.from({ length: 20 }, (_each, i) => usage.add(batch(i))))
    expect((await rows('1h')).map(([, , allowed]) => allowed)).toEqual([40, 20, 20])
  })
})
