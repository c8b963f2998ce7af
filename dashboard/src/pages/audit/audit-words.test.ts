import { expect, it } from 'vitest'
import type { AuditEntry } from '../../api/operations.ts'
import { fullTime } from '../../format/time.ts'
import { changesOf, doneText } from './audit-words.ts'

const entry = (action: string, before: unknown, after: unknown): AuditEntry => ({
  sequence: 1,
  at: '2026-11-16T12:00:00Z',
  actor: { id: 't', name: 'on call', address: null },
  reason: null,
  action,
  target: { kind: action.split('.')[0], id: 'x' },
  customer_id: null,
  before,
  after,
  hash: '00',
})

it.each([
  ['customers.put', null, {}, 'made the customer'],
  ['customers.put', {}, {}, 'changed the customer'],
  ['api_keys.remove', {}, null, 'removed the API key'],
  ['tokens.revoke', {}, {}, 'revoked the token'],
  ['novelties.frobnicate', {}, {}, 'frobnicate the novelties'],
])('%s is said in words', (action, before, after, expected) => {
  expect(doneText(entry(action, before, after))).toBe(expected)
})

it('a change is what differs, with times as times, and without what every record has', () => {
  const before = { id: 'x', tier: 'free', version: 1, updatedAtMs: 1, expiresAtMs: 1_794_804_454_407 }
  const after = { id: 'x', tier: 'pro', version: 2, updatedAtMs: 2, periodAnchor: '<b>' }
  expect(changesOf(entry('customers.put', before, after))).toEqual([
    { field: 'tier', was: 'free', will: 'pro' },
    { field: 'expires at', was: fullTime(1_794_804_454_407), will: '' },
    { field: 'period anchor', was: '', will: '<b>' },
  ])
})
