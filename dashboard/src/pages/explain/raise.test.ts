import { expect, test } from 'vitest'
import { callerAt, overrideName, unitOf } from './raise.ts'

test('a caller is named by an entry for a customer, or for an API key', () => {
  expect(callerAt([{ key: 'tenant', value: 'acme' }])).toBe(0)
  expect(
    callerAt([
      { key: 'mode', value: 'live' },
      { key: 'api_key', value: 'sk_live_0123456789abcdef0123456789' },
    ]),
  ).toBe(1)
  expect(callerAt([{ key: 'user', value: 'alice' }])).toBe(-1)
})

test('an override is for the caller, or for what stands below', () => {
  const entries = [
    { key: 'customer', value: 'acme' },
    { key: 'region', value: 'eu' },
    { key: 'endpoint', value: 'POST /orders' },
  ]
  expect(overrideName(entries)).toBe('region=eu/endpoint=POST /orders')
  expect(overrideName(entries.slice(0, 1))).toBe('default')
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
