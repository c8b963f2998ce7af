import { expect, it } from 'vitest'
import { fullTime } from '../format/time.ts'
import { storedChanges } from './stored-changes.ts'

it('a change is what differs, with times as times, and without what every record has', () => {
  const before = { id: 'x', tier: 'free', version: 1, updatedAtMs: 1, expiresAtMs: 1_794_804_454_407 }
  const after = { id: 'x', tier: 'pro', version: 2, updatedAtMs: 2, periodAnchor: '<b>' }
  expect(storedChanges(before, after)).toEqual([
    { field: 'tier', was: 'free', will: 'pro' },
    { field: 'expires at', was: fullTime(1_794_804_454_407), will: '' },
    { field: 'period anchor', was: '', will: '<b>' },
  ])
})

it('rules that a change is in force on are sentences', () => {
  const [before, after] = [2, 50].map((count) => ({
    ...{ requests_per_unit: count, unit: 'hour', window_ms: 3_600_000, burst: null },
  }))
  const rule = { domain: 'llm', rule: 'api_key', rule_name: 'calls', before, after, effect: 'raised' }
  const other = { ...rule, rule: 'ip', rule_name: 'ip', before: null }
  const entry = (total: number, rules: readonly object[]) => storedChanges(undefined, { inForceOn: { total, rules } })
  const text = 'llm/calls (api_key): 2 per hour → 50 per hour'
  expect(entry(1, [rule])).toEqual([{ field: 'in force on', was: '', will: text }])
  expect(entry(3, [rule, other])[0].will).toBe(`${text}; llm/ip: no limit → 50 per hour; and 1 more`)
  expect(entry(0, [])[0].will).toBe('no rule')
})

it('names are words', () => {
  expect(storedChanges({ requestsPerUnit: 5 }, { requestsPerUnit: 7 })).toEqual([
    { field: 'requests per unit', was: '5', will: '7' },
  ])
})
