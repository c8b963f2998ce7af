import { expect, test } from 'vitest'
import { callerOf, overrideName, unitOf } from './raise.ts'

test('a customer is named by an entry, or found by the beginning of an API key', () => {
  expect(callerOf([{ key: 'tenant', value: 'acme' }])).toEqual({ kind: 'customer', id: 'acme', at: 0 })
  const key = [
    { key: 'mode', value: 'live' },
    { key: 'api_key', value: 'sk_live_0123456789abcdef0123456789' },
  ]
  expect(callerOf(key)).toEqual({ kind: 'key', prefix: 'sk_live_', at: 1 })
  expect(callerOf([{ key: 'user', value: 'alice' }])).toBeUndefined()
  expect(callerOf([{ key: 'api_key', value: '' }])).toBeUndefined()
})

test('no more of a key is used than people are shown', () => {
  expect(callerOf([{ key: 'api_key', value: 'abcdefgh' }])).toEqual({ kind: 'key', prefix: 'ab', at: 0 })
})

test('an override is for the caller, or for what stands below', () => {
  const entries = [
    { key: 'customer', value: 'acme' },
    { key: 'region', value: 'eu' },
    { key: 'endpoint', value: 'POST /orders' },
  ]
  const caller = { kind: 'customer', id: 'acme', at: 0 } as const
  expect(overrideName(entries, caller)).toBe('region=eu/endpoint=POST /orders')
  expect(overrideName(entries.slice(0, 1), caller)).toBe('default')
})

test.each([
  ['5 per 1m, sliding_window', 'minute'],
  ['100 per 30d, fixed_window', 'month'],
  ['10000 per calendar month (Europe/Berlin), fixed_window', 'month'],
  ['10 per 90s, gcra', undefined],
  ['2 at once, leases of 5m', undefined],
])('the unit of "%s" is %s', (described, unit) => {
  expect(unitOf({ described })).toBe(unit)
})
