import { compileObjects } from 'sluice/internal/core/rules/compile'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { PassedOver } from './passed-over.ts'
import { QuotaBook } from './quota-book.ts'
import { ask, customer, hash, key, ofCustomer, override, tier } from './records.suite.ts'

const limit = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: limit(3) } },
    descriptors: [{ key: 'api_key', tiered: true, rate_limit: limit(2) }],
  },
])

function scene() {
  const reports: string[] = []
  const passed = new PassedOver((table, id, reason) => reports.push(`${table} ${id}: ${reason}`))
  const book = new QuotaBook({ hash, passOver: passed.hear })
  book.put('customers', 'acme', customer('acme', { tier: 'free' }))
  book.put('api_keys', 'k', key('k', 'acme'))
  const limiter = new Limiter(() => RULES, new MemoryStore(), { quotas: () => book })
  const limitNow = async () => (await limiter.check(ask('api_key=k-secret'))).tightest?.verdict.limit
  return { book, reports, passed, limitNow }
}

describe('a record that makes no limit', () => {
  it('is counted and reported once, and what the rules say stands', async () => {
    const { book, reports, passed, limitNow } = scene()
    book.put('tiers', 'api/free', tier('api', 'free', { rate_limit: { unit: 'eon', requests_per_unit: 9 } }))
    book.put('overrides', 'o', override('o', ofCustomer('acme'), 9, { algorithm: 'guess' }))
    for (let i = 0; i < 5; i++) expect(await limitNow()).toBe(3)
    expect(reports).toEqual([
      expect.stringMatching(/^tiers api\/free: .*unit/s),
      expect.stringMatching(/^overrides o: .*algorithm/s),
    ])
    expect(passed.counts).toEqual({ tiers: 1, overrides: 1 })
    // Compiled again, for the same reason.
    book.put('tiers', 'api/other', tier('api', 'other', {}))
    await limitNow()
    expect(passed.counts.tiers).toBe(1)
    book.put('tiers', 'api/free', tier('api', 'free', { rate_limit: limit(7) }))
    book.put('overrides', 'o', undefined)
    expect(await limitNow()).toBe(7)
  })

  it('is reported a bounded number of times', () => {
    const { passed, reports } = scene()
    for (let i = 0; i < 5_000; i++) passed.hear('overrides', `o${i}`, 'x'.repeat(10_000))
    expect(reports).toHaveLength(1_000)
    expect(reports[0].length).toBeLessThan(1_100)
  })
})
