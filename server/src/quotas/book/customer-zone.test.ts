import { compileObjects } from 'sluice/internal/core/rules/compile'
import { describeRule } from 'sluice/internal/core/rules/describe'
import { explain, sourcedMatch } from 'sluice/internal/core/rules/explain'
import type { RuleSet } from 'sluice/internal/core/rules/rule-set'
import { Limiter } from 'sluice/internal/engine/limiter'
import { MemoryStore } from 'sluice/internal/stores/memory/memory-store'
import { describe, expect, it } from 'vitest'
import { ask, bookOf, customer, entriesOf, key } from './records.suite.ts'

const month = (time_zone?: string, requests_per_unit = 1) => ({
  algorithm: 'fixed_window' as const,
  requests_per_unit,
  calendar: { unit: 'month' as const, ...(time_zone !== undefined && { time_zone }) },
})

const RULES = compileObjects([
  {
    domain: 'api',
    tiers: { pro: { rate_limit: month('customer') } },
    descriptors: [
      { key: 'customer', rate_limit: month('customer') },
      { key: 'tenant', tiered: false, rate_limit: month('customer') },
      { key: 'customer_id', rate_limit: month('Europe/Berlin') },
      { key: 'x-api-key', tiered: true, rate_limit: month('UTC', 9) },
    ],
  },
])
const ZONES = { la: 'America/Los_Angeles', tokyo: 'Asia/Tokyo', utc: 'UTC', nowhere: 'Mars/Base' }

/** Creates customers of several time zones, each of whom has a key, at the end of November. */
function scene(rules: RuleSet = RULES) {
  const customers = Object.entries(ZONES).map(([id, timeZone]) => customer(id, { timeZone, tier: 'pro' }))
  const { book, time, clock } = bookOf({ customers, api_keys: Object.keys(ZONES).map((id) => key(`key-${id}`, id)) })
  const limiter = new Limiter(() => rules, new MemoryStore({ clock }), { quotas: () => book })
  const allowed = (text: string, at: string): boolean => {
    time.nowMs = Date.parse(at)
    return limiter.check(ask(text)).allowed
  }
  return { book, allowed }
}

const USED = '2026-11-30T12:00Z'
/** In Los Angeles it is still November, in Tokyo December since 15:00 of the day before. */
const NIGHT = '2026-12-01T03:00Z'

describe('a calendar in the zone of the customer', () => {
  it.each(['customer=ID', 'tenant=ID', 'x-api-key=key-ID-secret'])('begins at midnight of each, by %s', (entry) => {
    const { allowed } = scene()
    const [la, tokyo, utc] = ['la', 'tokyo', 'utc'].map((id) => entry.replace('ID', id))
    expect([la, tokyo, utc].map((each) => allowed(each, USED))).toEqual([true, true, true])
    expect(allowed(tokyo, '2026-11-30T14:59Z')).toBe(false)
    expect(allowed(tokyo, '2026-11-30T15:00Z')).toBe(true)
    expect([la, utc].map((each) => allowed(each, NIGHT))).toEqual([false, true])
    expect([allowed(la, '2026-12-01T07:59Z'), allowed(la, '2026-12-01T08:00Z')]).toEqual([false, true])
  })

  it('is that of UTC for callers that are no customers, and where the system does not know the zone', () => {
    const { allowed } = scene()
    for (const caller of ['customer=stranger', 'customer=nowhere']) {
      expect(['2026-11-30T23:59Z', '2026-11-30T23:59Z', '2026-12-01T00:00Z'].map((at) => allowed(caller, at))).toEqual([
        true,
        false,
        true,
      ])
    }
  })

  it('leaves a zone alone that the rule names', () => {
    const { allowed } = scene()
    const times = [USED, '2026-11-30T22:59Z', '2026-11-30T23:00Z']
    expect(times.map((at) => allowed('customer_id=la', at))).toEqual([true, false, true])
  })

  it('is said of the rule, and of the limit of a customer, whose source stays known', () => {
    const { book } = scene()
    const domain = RULES.domains.get('api')
    if (domain === undefined) throw new Error('no domain')
    const { rules, sources } = explain(
      domain,
      entriesOf('x-api-key=key-la-secret'),
      undefined,
      book.accounts,
      book.tiers,
    )
    expect(describeRule(rules[0])).toContain('calendar month (America/Los_Angeles)')
    expect(sources).toEqual([{ kind: 'tier', name: 'pro', isStored: false }])
    const again = sourcedMatch(domain, entriesOf('x-api-key=key-la-secret'), undefined, book.accounts, book.tiers)
    expect(again[0].rule).toBe(rules[0])
    expect(describeRule(explain(domain, entriesOf('customer=stranger')).rules[0])).toContain(
      'calendar month (customer)',
    )
  })
})
