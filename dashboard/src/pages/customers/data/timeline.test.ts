import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../api/operations.ts'
import { storyOf } from './timeline.ts'

const entry = (action: string, before: unknown, after: unknown, changes: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ sequence: 1, at: '2026-01-01T00:00:00Z', actor: { id: 't', name: 'kim', address: null }, reason: null },
  ...{ action, target: { kind: 'x', id: 'x' }, customer_id: 'acme', before, after, hash: '' },
  ...changes,
})

const override = { descriptor: 'default', requestsPerUnit: 900, unit: 'minute', expiresAtMs: 5_000 }

describe('storyOf', () => {
  it.each([
    ['customers.put', null, { id: 'a' }, 'Created the customer'],
    ['customers.remove', { id: 'a' }, null, 'Removed the customer'],
    ['customers.put', { status: 'active' }, { status: 'suspended' }, 'Suspended the customer'],
    ['customers.put', { status: 'suspended' }, { status: 'active' }, 'Ended the suspension'],
    ['customers.put', { tier: 'free' }, { tier: 'pro' }, 'Changed the tier from free to pro'],
    ['customers.put', { tier: 'free' }, {}, 'Changed the tier from free to none'],
    ['customers.put', { name: 'A', timeZone: 'UTC' }, { name: 'B', timeZone: 'CET' }, 'Changed name, time zone'],
    ['api_keys.put', null, { prefix: 'sk_l', name: 'prod' }, 'Added key sk_l… (prod)'],
    ['api_keys.put', { prefix: 'sk_l' }, { prefix: 'sk_l', revokedAtMs: 1 }, 'Revoked key sk_l…'],
    ['overrides.put', null, override, 'Set a limit of 900 a minute for every request'],
    [
      'overrides.remove',
      { ...override, descriptor: 'endpoint:GET /' },
      null,
      'Removed the limit of 900 a minute for endpoint:GET /',
    ],
    ['grants.put', null, { amount: 5_00, descriptor: 'default' }, 'Granted extra budget of 500 for every request'],
    ['grants.remove', { amount: 5, descriptor: 'default' }, null, 'Revoked a grant of 5 for every request'],
    ['blocks.put', null, { status: 403 }, 'Blocked'],
    ['blocks.remove', { status: 403 }, null, 'Unblocked'],
    ['counters.reset', null, null, 'Reset counters'],
    ['webhooks.put', null, {}, 'webhooks.put'],
  ])('%s of %o and %o', (action, before, after, text) => {
    expect(storyOf(entry(action, before, after)).text).toBe(text)
  })

  it('says when what was made ends', () => {
    expect(storyOf(entry('overrides.put', null, override)).untilMs).toBe(5_000)
    expect(storyOf(entry('overrides.remove', override, null)).untilMs).toBeUndefined()
  })
})
