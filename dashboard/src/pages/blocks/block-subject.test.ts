import { describe, expect, it } from 'vitest'
import type { Block, NewBlock } from '../../api/operations.ts'
import { limitsOf, readFields } from '../../kit/fields.ts'
import { blockBody, stateOf, typedAgain, typedFor, whoText } from './block-subject.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const BLOCK: Block = {
  ...{ id: 'b1', customer_id: null, api_key_id: null, cidr: '198.51.100.0/24', reason: 'scraper', status: 429 },
  ...{ body: 'no', effective_at: '2026-11-16T11:00:00Z', expires_at: '2026-11-16T13:00:00Z', version: 1 },
  created_at: '2026-11-16T11:00:00Z',
}

describe('an address asks for a block of', () => {
  it.each([
    ['customer:acme', { kind: 'customer', customer_id: 'acme' }],
    ['customer:a:b/<c>', { kind: 'customer', customer_id: 'a:b/<c>' }],
    ['key:k1', { kind: 'key', api_key: 'k1' }],
    ['cidr:10.0.0.0/8', { kind: 'cidr', cidr: '10.0.0.0/8' }],
    ['', { kind: 'customer', customer_id: '' }],
    ['nonsense', { kind: 'customer', customer_id: '' }],
  ])('%s', (asked, typed) => {
    expect(typedFor(asked)).toEqual(typed)
  })
})

describe('a new block', () => {
  const read = (typed: Record<string, string>) => readFields(limitsOf('createBlock'), typed, { nowMs: NOW })
  const sent = (typed: Record<string, string>): NewBlock => {
    const fields = read({ status: '403', ...typed })
    return fields.kind === 'right' ? blockBody(fields.body) : {}
  }

  it.each([
    [{ customer_id: ' acme ' }, { customer_id: 'acme' }],
    [{ api_key: 'sk_live_1' }, { api_key: 'sk_live_1' }],
    [{ api_key: '8f14e45f-ceea-467f-a8b2-3f5a1d2b3c4d' }, { api_key_id: '8f14e45f-ceea-467f-a8b2-3f5a1d2b3c4d' }],
    [{ cidr: '10.0.0.0/8' }, { cidr: '10.0.0.0/8' }],
    [{ cidr: '192.0.2.7' }, { cidr: '192.0.2.7/32' }],
    [{ cidr: '2001:db8::1' }, { cidr: '2001:db8::1/128' }],
  ])('of %j', (typed, expected) => {
    expect(sent(typed)).toEqual({ ...expected, status: 403 })
  })

  it('has no end, no body and no reason unless they are given', () => {
    expect(sent({ customer_id: 'a', body: ' ', reason: ' ', expires_at: '' })).toEqual({
      customer_id: 'a',
      status: 403,
    })
  })

  it('reports every wrong field at the same time', () => {
    const fields = read({ status: '200', expires_at: '2020-01-01T00:00' })
    expect(Object.keys(fields.kind === 'wrong' ? fields.wrongs : {})).toEqual(['status', 'expires_at'])
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
  expect(typedAgain(BLOCK)).toEqual({ kind: 'cidr', cidr: '198.51.100.0/24', status: '429', body: 'no' })
  expect([whoText(BLOCK), whoText({ ...BLOCK, cidr: null, api_key_id: '8f14e45f-ceea' })]).toEqual([
    '198.51.100.0/24',
    'key 8f14e45f',
  ])
})
