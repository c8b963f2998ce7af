import { describe, expect, it } from 'vitest'
import { SLOW_MS, testDatabases } from '../database/databases.suite.ts'
import { quotasOn } from '../open/open-quotas.ts'
import { CallerHours } from './caller-hours.ts'

const HOUR = 3_600_000
const NOON = 500_004 * HOUR

describe.each(testDatabases)('what callers did in an hour, read from %s', { timeout: SLOW_MS }, (_, make) => {
  async function open() {
    const quotas = await quotasOn(await (await make()).open(), { now: () => NOON })
    const count = (customerId: string, keyId: string, limit: string, atMs: number, allowed: number, refused = 0) =>
      ({ customerId, keyId, limit, atMs, allowed, refused, cost: 2 * allowed }) as const
    const counts = [
      count('acme', '', 'shop/customer', NOON, 1, 9),
      count('acme', 'k-1', 'shop/api_key', NOON + HOUR - 1, 4),
      count('acme', '', 'shop/customer', NOON - HOUR, 20),
      count('beta', '', 'shop/customer', NOON - 2 * HOUR, 1_000),
      count('', 'alone', 'shop/api_key', NOON, 3),
      count('', 'other', 'shop/api_key', NOON, 5_000),
    ]
    await quotas.usage.add({ node: 'n', id: '1', counts })
    return new CallerHours(quotas.db)
  }
  const callers = (customers: readonly string[], keys: readonly string[] = []) => {
    return { customers: new Set(customers), keys: new Set(keys) }
  }

  it('has a row for each key and limit, the most requests first, and no more than are wanted', async () => {
    const hours = await open()
    const rows = await hours.inHour(callers(['acme'], ['alone']), NOON, 10)
    expect(rows).toEqual([
      { customerId: 'acme', keyId: '', limit: 'shop/customer', allowed: 1, refused: 9, cost: 2 },
      { customerId: 'acme', keyId: 'k-1', limit: 'shop/api_key', allowed: 4, refused: 0, cost: 8 },
      { customerId: '', keyId: 'alone', limit: 'shop/api_key', allowed: 3, refused: 0, cost: 6 },
    ])
    expect(await hours.inHour(callers(['acme'], ['alone']), NOON, 2)).toEqual(rows.slice(0, 2))
    expect(await hours.inHour(callers([]), NOON, 10)).toEqual([])
  })

  it('finds the busiest hour of the callers that are named, within a time', async () => {
    const hours = await open()
    expect(await hours.busiest(callers(['acme']), NOON - 9 * HOUR, NOON + HOUR)).toBe(NOON - HOUR)
    expect(await hours.busiest(callers(['acme']), NOON, NOON + HOUR)).toBe(NOON)
    expect(await hours.busiest(callers(['acme', 'beta']), NOON - 9 * HOUR, NOON)).toBe(NOON - 2 * HOUR)
    expect(await hours.busiest(callers(['nobody']), NOON - 9 * HOUR, NOON)).toBeUndefined()
  })
})
