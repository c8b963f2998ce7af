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
    [{ tier: 'pro', customers: 69_600, allowed: 1, refused: 0, cost: 1 }],
  )
  expect(rows.map((row) => [row.domain, row.name, row.stored?.version, row.inForce !== undefined])).toEqual([
    ['api', 'pro', 3, true],
    ['api', 'free', undefined, true],
    ['shop', 'free', 3, false],
  ])
  expect(rows.map(({ customers }) => customers)).toEqual([69_600, 0, 0])
  expect(rows[0].limits).toEqual([{ of: '', name: 'primary', text: '15,000 an hour, fixed window' }])
})

it('how many customers a tier has is not known without a database, nor where the server lists as many tiers as it can', () => {
  const uses = Array.from({ length: 500 }, (_, i) => ({ tier: `t${i}`, customers: 1, allowed: 0, refused: 0, cost: 0 }))
  for (const known of [undefined, uses]) {
    expect(rowsOf([inForce('api', 'pro')], [], known)[0].customers).toBeUndefined()
  }
})
