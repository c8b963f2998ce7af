import { expect, test } from 'vitest'
import type { Counter, MeterState } from '../../api/operations.ts'
import { byWeight, type Explanation, standingOf, verdictOf, withoutSecrets } from './verdict.ts'

const counter = (changes: Partial<Counter> = {}): Counter => ({
  descriptor: 0,
  rule_id: 'user',
  rule_name: 'per-user',
  described: '5 per 1m, sliding_window',
  is_unlimited: false,
  is_shadow: false,
  switched_to: null,
  source: { kind: 'rule', id: null },
  key: 'api|user|user=alice',
  limit: 5,
  used: 2,
  remaining: 3,
  reset_after_ms: 0,
  retry_after_ms: 0,
  would_refuse: false,
  customer_id: null,
  grants: [],
  what_would_admit: 'It is admitted: 3 of 5 are left.',
  ...changes,
})
const FULL = { used: 5, remaining: 0, retry_after_ms: 12_000, reset_after_ms: 60_000 }
const refusing = (changes: Partial<Counter> = {}): Counter =>
  counter({ ...FULL, would_refuse: true, what_would_admit: 'Wait 12s.', ...changes })
const answer = (changes: Partial<Explanation>): Explanation => ({
  admitted: true,
  blocked: null,
  matched: [],
  counters: [],
  meters: [],
  ...changes,
})

test('what a counter does to a request follows from its budget, its mode and its switch', () => {
  expect(standingOf(counter())).toBe('admits')
  expect(standingOf(refusing())).toBe('refuses')
  expect(standingOf(counter({ ...FULL, is_shadow: true }))).toBe('would refuse')
  expect(standingOf(counter({ ...FULL, switched_to: 'shadow' }))).toBe('would refuse')
  expect(standingOf(counter({ ...FULL, switched_to: 'off' }))).toBe('never refuses')
  expect(standingOf(counter({ is_unlimited: true }))).toBe('never refuses')
  expect(standingOf(counter({ ...FULL, grants: [{ id: 'g', remaining: 5 }] }))).toBe('admits')
})

test('the rule that binds comes first', () => {
  const names = byWeight([
    counter({ rule_name: 'roomy' }),
    counter({ rule_name: 'free', is_unlimited: true }),
    counter({ rule_name: 'tight', remaining: 1 }),
    refusing({ rule_name: 'short' }),
    counter({ ...FULL, rule_name: 'shadow', is_shadow: true }),
    refusing({ rule_name: 'long', retry_after_ms: 90_000 }),
  ]).map(({ rule_name }) => rule_name)
  expect(names).toEqual(['long', 'short', 'shadow', 'tight', 'roomy', 'free'])
})

test('a refusal names the rule and what would admit', () => {
  expect(verdictOf(answer({ admitted: false, counters: [counter(), refusing()] }))).toEqual({
    tone: 'bad',
    title: 'Refused by per-user',
    sentence: '5 of 5 are used, and the whole budget is available in 1 min. Wait 12s.',
  })
})

test('several that refuse are counted', () => {
  const { sentence } = verdictOf(answer({ admitted: false, counters: [refusing(), refusing({ rule_name: 'b' })] }))
  expect(sentence).toMatch(/1 more rule refuses it, too\.$/)
})

test('a block goes before all rules', () => {
  const blocked = { id: 'b1', reason: 'abuse', status: 403, ends_in_ms: null, what_would_admit: 'Unblock b1.' }
  expect(verdictOf(answer({ admitted: false, blocked, counters: [refusing()] }))).toEqual({
    tone: 'bad',
    title: 'Refused: the caller is blocked',
    sentence: 'Block b1 (abuse) goes before all rules. Unblock b1.',
  })
})

test('an admission names the nearest limit, a rule in shadow mode, or that nothing applies', () => {
  expect(verdictOf(answer({ counters: [counter()] })).sentence).toBe('The nearest limit is per-user: 3 of 5 are left.')
  expect(verdictOf(answer({ counters: [counter({ ...FULL, is_shadow: true })] })).title).toBe(
    'Admitted, because a rule is in shadow mode',
  )
  expect(verdictOf(answer({ matched: [{ note: 'No rule matches.', steps: [] }] }))).toEqual({
    tone: 'good',
    title: 'Admitted: no rule applies',
    sentence: 'No rule matches.',
  })
})

test('what the server says nothing about is not put into the address, except for a tier', () => {
  const entries = ['user', 'token', 'tier'].map((key) => ({ key, value: `${key}-1` }))
  const matched = [{ note: null, steps: [{ key: 'user', value: 'user-1', how: 'none', pattern: null, known: [] }] }]
  expect(withoutSecrets({ domain: 'api', descriptors: [{ entries }] }, { matched }).descriptors).toEqual([
    { entries: [entries[0], { key: 'token', value: '' }, entries[2]] },
  ])
})

test('secret values are not put into the address', () => {
  const entries = [
    { key: 'api_key', value: 'sk_live_1' },
    { key: 'endpoint', value: '/a' },
  ]
  const step = (key: string, value: string | null) => ({ key, value, how: 'any value', pattern: key, known: [] })
  const matched = [{ note: null, steps: [step('api_key', null), step('endpoint', '/a')] }]
  expect(withoutSecrets({ domain: 'api', descriptors: [{ entries }] }, { matched })).toEqual({
    domain: 'api',
    descriptors: [{ entries: [{ key: 'api_key', value: '' }, entries[1]] }],
  })
})

const meter = (changes: Partial<MeterState> = {}): MeterState => ({
  descriptor: 0,
  rule_id: 'user',
  rule_name: 'per-user',
  meter: 'exports',
  takes: 1,
  customer_id: 'acme',
  code: null,
  status: null,
  balance: null,
  what_would_admit: 'It is paid: 3 of exports are left.',
  ...changes,
})

test('a refusal by the ledger says which meter, with which status, and what would help', () => {
  const short = meter({ code: 'LEDGER_SHORT', status: 402, what_would_admit: 'Issue credits.' })
  expect(verdictOf(answer({ admitted: false, counters: [counter()], meters: [meter(), short] }))).toEqual({
    tone: 'bad',
    title: 'Refused with 402: meter exports has too little left',
    sentence: 'The limit of per-user admits it. Issue credits.',
  })
  // The limit is asked first.
  expect(verdictOf(answer({ admitted: false, counters: [refusing()], meters: [short] })).title).toBe(
    'Refused by per-user',
  )
  expect(verdictOf(answer({ counters: [counter()], meters: [meter()] })).tone).toBe('good')
})
