import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import { block, bookOf, customer, key, ofCustomer, override, START_MS, tier } from '../../quotas/book/records.suite.ts'
import type { ProposedChange, UsageRow, UsageStore } from '../../quotas/ports.ts'
import { ChangePreview } from './change-preview.ts'

const limit = (requests_per_unit: number, unit = 'hour') => ({ unit, requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: limit(100) }, pro: { rate_limit: limit(1_000) } },
    descriptors: [{ key: 'api_key', tiered: true, rate_limit: limit(10) }],
  },
])
const HOUR = 3_600_000
const BUSY_MS = START_MS - 50 * HOUR

const row = (customerId: string, atMs: number, allowed: number, refused = 0): UsageRow => {
  return { customerId, limit: 'default', atMs, allowed, refused, cost: allowed }
}
const ROWS = [row('acme', BUSY_MS, 80, 20), row('acme', BUSY_MS + HOUR, 10), row('p1', BUSY_MS, 700)]

function scene(rows: readonly UsageRow[] | undefined = ROWS, more = 0) {
  const { book } = bookOf({
    customers: [
      customer('acme', { tier: 'free' }),
      customer('p1', { tier: 'pro' }),
      ...Array.from({ length: more }, (_, i) => customer(`m${i}`, { tier: 'pro' })),
    ],
    api_keys: [key('k', 'acme')],
  })
  const asked: string[] = []
  const usage: UsageStore = {
    read: async ({ customerId = '', fromMs, toMs }) => {
      asked.push(customerId)
      const items = rows?.filter((each) => each.customerId === customerId && each.atMs >= fromMs && each.atMs < toMs)
      return { items: items ?? [], next: undefined }
    },
  }
  const preview = new ChangePreview({
    rules: () => RULES,
    book: () => book,
    usage: rows && usage,
    countersOf: async () => 4,
    nowMs: () => START_MS,
  })
  return { preview: (change: ProposedChange) => preview.preview([change]), asked }
}

const record = (table: string, id: string, after: unknown, before?: unknown): ProposedChange =>
  ({ kind: 'record', table, id, before, after }) as ProposedChange

describe('a preview of a change', () => {
  it('compares a limit with the busiest hour of last week, before and after', async () => {
    const { preview } = scene()
    const after = override('o', ofCustomer('acme'), 60, { unit: 'hour' })
    const before = override('o', ofCustomer('acme'), 95, { unit: 'hour' })
    expect(await preview(record('overrides', 'o', after, before))).toEqual({
      affectedCustomers: 1,
      atPeak: { atMs: BUSY_MS, requests: 100, refusedBefore: 5, refusedAfter: 40 },
      notes: ["at last week's peak: 40 refused of 1 customer; affects 1 customer"],
    })
  })

  it('sets hours against longer and shorter windows', async () => {
    const { preview } = scene()
    const of = async (most: number, unit: 'day' | 'minute') => {
      const outcome = await preview(record('overrides', 'o', override('o', ofCustomer('acme'), most, { unit })))
      return outcome.atPeak?.refusedAfter
    }
    expect([await of(100, 'day'), await of(1, 'minute'), await of(2, 'minute')]).toEqual([10, 1, 0])
  })

  it('of a tier says who is affected', async () => {
    const { preview } = scene()
    const change = record('tiers', 'api/pro', tier('api', 'pro', { rate_limit: limit(600) }))
    expect(await preview(change)).toMatchObject({
      affectedCustomers: 1,
      atPeak: { requests: 700, refusedBefore: 0, refusedAfter: 100 },
    })
  })

  it('of a block counts all that would be refused', async () => {
    const { preview } = scene()
    expect(await preview(record('blocks', 'b', block('b', ofCustomer('acme'))))).toMatchObject({
      affectedCustomers: 1,
      atPeak: { refusedBefore: 0, refusedAfter: 100 },
    })
  })

  it('asks about no more than 100 customers, and says so', async () => {
    const { preview, asked } = scene(ROWS, 200)
    const change = record('tiers', 'api/pro', tier('api', 'pro', { rate_limit: limit(600) }))
    expect(await preview(change)).toEqual({
      affectedCustomers: 201,
      atPeak: undefined,
      notes: ['affects 201 customers', 'Too many customers to compare with last week.'],
    })
    expect(asked).toEqual([])
  })

  it.each<[claim: string, rows: readonly UsageRow[] | undefined, note: string]>([
    ['usage is not kept', undefined, 'Nothing is known of last week: usage is not kept.'],
    ['there was none', [], 'Nothing is known of their use of last week.'],
  ])('says that nothing is known when %s', async (_, rows, note) => {
    const { preview } = scene(rows ?? undefined)
    const other = rows === undefined ? withoutUsage() : preview
    expect(await other(record('overrides', 'o', override('o', ofCustomer('acme'), 60)))).toEqual({
      affectedCustomers: 1,
      atPeak: undefined,
      notes: ['affects 1 customer', note],
    })
  })

  it('of rules names those that would be others', async () => {
    const { preview } = scene()
    const text = `
domain: api
tiers:
  free: {rate_limit: {unit: hour, requests_per_unit: 50}}
descriptors:
  - {key: api_key, tiered: true, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: user, rate_limit: {unit: day, requests_per_unit: 1}}
`
    const { affectedCustomers, notes } = await preview({ kind: 'rules', text })
    expect(affectedCustomers).toBe(2)
    expect(notes).toEqual([
      'api/api_key (tier free): 100 per 1h, sliding_window → 50 per 1h, sliding_window',
      'api/user: new, 1 per 1d, sliding_window',
      'api/api_key (tier pro): removed',
    ])
  })

  it('of a reset counts the counters, and of a token there is nothing to say', async () => {
    const { preview } = scene()
    expect(await preview({ kind: 'counters', target: { kind: 'key', keyId: 'k' } })).toEqual({
      affectedCustomers: 1,
      atPeak: undefined,
      notes: ['4 counters would begin anew.'],
    })
    expect(await preview({ kind: 'token', before: undefined, after: {} })).toMatchObject({
      affectedCustomers: 0,
      notes: [],
    })
  })
})

function withoutUsage() {
  const { book } = bookOf({ customers: [customer('acme', { tier: 'free' })] })
  const preview = new ChangePreview({
    rules: () => RULES,
    book: () => book,
    usage: undefined,
    countersOf: async () => 0,
    nowMs: () => START_MS,
  })
  return (change: ProposedChange) => preview.preview([change])
}
