import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describe, expect, it } from 'vitest'
import type { QuotaChange } from '../model.ts'
import { previewChange } from './preview.ts'
import {
  block,
  bookOf,
  customer,
  grant,
  key,
  ofCustomer,
  ofKey,
  override,
  type Records,
  ruleSwitch,
  START_MS,
  tier,
} from './records.suite.ts'

const limit = (requests_per_unit: number) => ({ unit: 'minute', requests_per_unit })
const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { free: { rate_limit: limit(100) }, pro: { rate_limit: limit(1_000) } },
    descriptors: [
      { key: 'api_key', tiered: true, rate_limit: limit(10), descriptors: [{ key: 'endpoint', rate_limit: limit(5) }] },
    ],
  },
])

const RECORDS: Records = {
  customers: [
    ...Array.from({ length: 1_204 }, (_, i) => customer(`p${i}`, { tier: 'pro' })),
    customer('acme', { tier: 'free' }),
  ],
  api_keys: [key('k', 'acme')],
  overrides: [override('o', ofCustomer('acme'), 80)],
}
const PEAKS: Readonly<Record<string, number>> = { 'p1 default': 900, 'acme default': 70, 'acme endpoint:POST /a': 9 }

function preview(change: Omit<QuotaChange, 'revision'>) {
  const { book } = bookOf(RECORDS)
  const usage = { peakPerWindow: (id: string, descriptor: string) => PEAKS[`${id} ${descriptor}`] }
  const revision = { revision: 1 }
  return previewChange({
    book,
    rules: RULES,
    usage,
    nowMs: START_MS,
    change: { ...change, ...revision } as QuotaChange,
  })
}

const endpoint = { descriptor: 'endpoint:POST /a' }

describe('a preview', () => {
  it.each<[claim: string, change: Omit<QuotaChange, 'revision'>, text: string]>([
    [
      'a tier that is raised',
      { table: 'tiers', id: 'api/pro', record: tier('api', 'pro', { rate_limit: limit(900) }) },
      "at last week's peak: 0 refused; affects 1,204 customers",
    ],
    [
      'a tier that is lowered',
      { table: 'tiers', id: 'api/pro', record: tier('api', 'pro', { rate_limit: limit(600) }) },
      "at last week's peak: 300 refused of 1 customer; affects 1,204 customers",
    ],
    [
      'an override',
      { table: 'overrides', id: 'n', record: override('n', ofKey('k'), 50) },
      "at last week's peak: 20 refused of 1 customer; affects 1 customer",
    ],
    [
      'an override that is removed',
      { table: 'overrides', id: 'o', record: undefined },
      "at last week's peak: 0 refused; affects 1 customer",
    ],
    [
      'an override of an endpoint',
      { table: 'overrides', id: 'e', record: override('e', ofCustomer('acme'), 6, endpoint) },
      "at last week's peak: 3 refused of 1 customer; affects 1 customer",
    ],
    [
      'another tier of a customer, who keeps the override',
      { table: 'customers', id: 'acme', record: customer('acme', { tier: undefined }) },
      "at last week's peak: 0 refused; affects 1 customer",
    ],
    [
      'another tier of a customer',
      { table: 'customers', id: 'p1', record: customer('p1', { tier: 'free' }) },
      "at last week's peak: 800 refused of 1 customer; affects 1 customer",
    ],
    [
      'a suspension',
      { table: 'customers', id: 'acme', record: customer('acme', { status: 'suspended' }) },
      "at last week's peak: 70 refused of 1 customer; affects 1 customer",
    ],
    [
      'a block',
      { table: 'blocks', id: 'b', record: block('b', ofKey('k')) },
      "at last week's peak: 70 refused of 1 customer; affects 1 customer",
    ],
    [
      'a block of addresses',
      { table: 'blocks', id: 'b', record: block('b', { kind: 'cidr', cidr: '10.0.0.0/8' }) },
      "at last week's peak: 0 refused; affects every caller in 10.0.0.0/8",
    ],
    [
      'a grant',
      { table: 'grants', id: 'g', record: grant('g', 'acme', 5) },
      "at last week's peak: 0 refused; affects 1 customer",
    ],
    [
      'a switch for all',
      { table: 'switches', id: '*', record: ruleSwitch(undefined, 'off') },
      "at last week's peak: 0 refused; affects 1,205 customers",
    ],
  ] as const)('of %s says what it comes to', (_, change, text) => {
    expect(preview(change).text).toBe(text)
  })

  it('changes nothing', () => {
    const { book } = bookOf(RECORDS)
    const change: QuotaChange = { table: 'overrides', id: 'o', record: undefined, revision: 9 }
    previewChange({ book, rules: RULES, usage: { peakPerWindow: () => 1 }, nowMs: START_MS, change })
    expect([book.counts.overrides, book.revision]).toEqual([1, 0])
  })
})
