import { describe, expect, it } from 'vitest'
import type { Block } from '../../api/operations.ts'
import { fieldsAsked, fieldsOf, newBlock, sameAgain, stateOf, whoText } from './block-fields.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const BLOCK: Block = {
  id: 'b1',
  customer_id: null,
  api_key_id: null,
  cidr: '198.51.100.0/24',
  reason: 'scraper',
  status: 429,
  body: 'no',
  effective_at: '2026-11-16T11:00:00Z',
  expires_at: '2026-11-16T13:00:00Z',
  version: 1,
  created_at: '2026-11-16T11:00:00Z',
}

describe('who is asked for in the address', () => {
  it.each([
    ['customer:acme', 'customer', 'acme'],
    ['customer:a:b/<c>', 'customer', 'a:b/<c>'],
    ['key:k1', 'key', 'k1'],
    ['cidr:10.0.0.0/8', 'cidr', '10.0.0.0/8'],
    ['', 'customer', ''],
    ['nonsense', 'customer', ''],
  ])('%s', (asked, kind, who) => {
    expect(fieldsAsked(asked)).toMatchObject({ kind, who })
  })
})

describe('a new block', () => {
  const sent = (kind: 'customer' | 'key' | 'cidr', who: string) =>
    newBlock({ ...fieldsAsked(''), kind, who, until: 'hour' }, NOW)

  it.each([
    ['customer', ' acme ', { customer_id: 'acme' }],
    ['key', 'sk_live_1', { api_key: 'sk_live_1' }],
    ['key', '8f14e45f-ceea-467f-a8b2-3f5a1d2b3c4d', { api_key_id: '8f14e45f-ceea-467f-a8b2-3f5a1d2b3c4d' }],
    ['cidr', '10.0.0.0/8', { cidr: '10.0.0.0/8' }],
    ['cidr', '192.0.2.7', { cidr: '192.0.2.7/32' }],
    ['cidr', '2001:db8::1', { cidr: '2001:db8::1/128' }],
  ] as const)('of a %s %j', (kind, who, expected) => {
    expect(sent(kind, who)).toEqual({ body: { ...expected, status: 403, expires_at: '2026-11-16T13:00:00.000Z' } })
  })

  it('has no end, no body and no reason unless they are given', () => {
    const fields = { ...fieldsAsked('customer:a'), until: 'never' as const, body: ' ', reason: ' ' }
    expect(newBlock(fields, NOW)).toEqual({ body: { customer_id: 'a', status: 403 } })
  })

  it('names everything that is wrong at once', () => {
    const fields = { ...fieldsAsked(''), until: 'time' as const, endsAt: '2020-01-01T00:00', status: '200' }
    expect(Object.keys((newBlock(fields, NOW) as { faults: object }).faults)).toEqual(['who', 'endsAt', 'status'])
  })
})

it('a removed block comes back as it was', () => {
  expect(sameAgain(BLOCK, NOW)).toEqual({
    cidr: '198.51.100.0/24',
    status: 429,
    body: 'no',
    reason: 'scraper',
    expires_at: '2026-11-16T13:00:00Z',
  })
  expect(sameAgain({ ...BLOCK, effective_at: '2026-11-16T12:30:00Z' }, NOW)).toMatchObject({
    effective_at: '2026-11-16T12:30:00Z',
  })
})

it('a block is later, now, or over', () => {
  const at = (time: string) => stateOf(BLOCK, Date.parse(time))
  expect([at('2026-11-16T10:00:00Z'), at('2026-11-16T11:00:00Z'), at('2026-11-16T13:00:00Z')]).toEqual([
    'later',
    'now',
    'over',
  ])
  expect(stateOf({ ...BLOCK, expires_at: null }, NOW)).toBe('now')
})

it('blocking again fills the form with the same', () => {
  expect(fieldsOf(BLOCK)).toMatchObject({ kind: 'cidr', who: '198.51.100.0/24', status: '429', reason: 'scraper' })
  expect([whoText(BLOCK), whoText({ ...BLOCK, cidr: null, api_key_id: '8f14e45f-ceea' })]).toEqual([
    '198.51.100.0/24',
    'key 8f14e45f',
  ])
})
