import { describe, expect, it } from 'vitest'
import type { QuotaSnapshot } from '../model.ts'
import { LiveQuotas } from './live-quotas.ts'
import { customer, hash } from './records.suite.ts'

const NONE = { api_keys: [], overrides: [], grants: [], blocks: [], tiers: [], switches: [], meters: [] }
const snapshotOf = (count: number, tier: string, revision: number): QuotaSnapshot => ({
  ...NONE,
  customers: Array.from({ length: count }, (_, i) => customer(`c${i}`, { tier })),
  revision,
})

describe('LiveQuotas', () => {
  it('puts a set into force in one step, with what changed meanwhile', async () => {
    const live = new LiveQuotas({ hash })
    const loading = live.load(snapshotOf(2_000, 'free', 1))
    await new Promise((resolve) => setImmediate(resolve))
    expect(live.current().counts.customers).toBe(0)
    live.apply([{ table: 'customers', id: 'c0', record: customer('c0', { tier: 'pro' }), revision: 2 }])
    expect(live.current().customer('c0')?.tier).toBe('pro')
    await loading
    expect([live.current().customer('c0')?.tier, live.current().customer('c1')?.tier]).toEqual(['pro', 'free'])
    expect(live.current().revision).toBe(2)
  })

  it('drops a set when a newer one comes, and one that brings nothing new', async () => {
    const live = new LiveQuotas({ hash })
    const first = live.load(snapshotOf(2_000, 'old', 1))
    await live.load(snapshotOf(1_000, 'new', 2))
    await first
    const book = live.current()
    await live.load(snapshotOf(1_000, 'same', 2))
    expect([book.customer('c0')?.tier, book.counts.customers, live.current() === book]).toEqual(['new', 1_000, true])
  })
})
