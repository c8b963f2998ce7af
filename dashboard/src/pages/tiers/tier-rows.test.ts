import { expect, it } from 'vitest'
import { rowsOf } from './tier-rows.ts'

const tier = (domain: string, name: string) => ({
  domain,
  name,
  limits: {},
  problem: null,
  version: 3,
  updated_at: '2026-11-16T12:00:00Z',
})
const inForce = (domain: string, name: string) => ({
  domain,
  name,
  is_stored: false,
  below: [],
  limits: [
    {
      id: 'user',
      name: 'primary',
      described: '15000 per 1h, fixed_window',
      limit: 15000,
      algorithm: 'fixed_window',
      is_shadow: false,
      is_quota: false,
    },
  ],
})
it('a tier is of a file, put in its place, or put and asked for by no rule', () => {
  const rows = rowsOf(
    [inForce('api', 'pro'), inForce('api', 'free')],
    [tier('api', 'pro'), tier('shop', 'free')],
    new Map([['pro', '12']]),
  )
  expect(rows.map((row) => [row.domain, row.name, row.stored?.version, row.inForce !== undefined])).toEqual([
    ['api', 'pro', 3, true],
    ['api', 'free', undefined, true],
    ['shop', 'free', 3, false],
  ])
  expect(rows.map(({ customers }) => customers)).toEqual(['12', '–', '–'])
  expect(rows[0].limits).toEqual([{ of: '', name: 'primary', text: '15,000 an hour, fixed window' }])
})
