import { loadRules } from 'sluice/internal/core/rules/load'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { observerOf } from '../../server/src/observe/door-observer.ts'
import { QuotaBook } from '../../server/src/quotas/book/quota-book.ts'
import { customer, hash } from '../../server/src/quotas/book/records.suite.ts'
import { UsageCounter } from '../../server/src/quotas/usage/usage-counter.ts'

const RULES = `
domain: api
tiers: {pro: {rate_limit: {unit: day, requests_per_unit: 9}}}
descriptors:
  - key: customer
    tiered: true
    rate_limit: {unit: day, requests_per_unit: 5}
    descriptors: [{key: path, rate_limit: {unit: day, requests_per_unit: 5}}]
`

describe('usage', () => {
  it('grows neither with customers nor with made-up paths', async () => {
    const book = new QuotaBook({ hash })
    book.put('customers', 'acme', customer('acme'))
    const counter = new UsageCounter(() => book)
    const rules = loadRules([{ file: 'api.yaml', text: RULES }])
    const limiter = new Limiter(() => rules, new MemoryStore({ maxKeys: 1_000 }), {
      quotas: () => book,
      observer: observerOf('http', [counter]),
    })
    for (let n = 0; n < 5_000; n++) {
      for (const who of ['acme', `made-up-${n}`]) {
        const entries = [
          { key: 'customer', value: who },
          { key: 'path', value: `/${n}` },
        ]
        await limiter.check({ domain: 'api', descriptors: [{ entries }] })
      }
    }
    expect(counter.take().deltas).toMatchObject([{ customerId: 'acme', limit: 'api/customer/path', allowed: 5_000 }])
  })
})
