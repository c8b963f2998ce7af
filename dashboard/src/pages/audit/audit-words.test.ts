import { expect, it } from 'vitest'
import type { AuditEntry } from '../../api/operations.ts'
import { doneText } from './audit-words.ts'

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
