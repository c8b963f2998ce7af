import { describe, expect, it } from 'vitest'
import { startAdmin } from './admin-kit.suite.ts'

const LIMIT = { requests_per_unit: 500, unit: 'minute' }

describe('an overview', () => {
  it('is for callers that have a token', async () => {
    const { ask } = await startAdmin()
    for (const path of ['top', 'usage/by-tier', 'rules/activity', 'changes', 'nodes']) {
      expect([path, (await ask('GET', path, { as: 'none' })).status]).toEqual([path, 401])
      expect([path, (await ask('GET', path, { as: 'viewer' })).status]).toEqual([path, 200])
    }
  })

  it('of the busiest callers is of refusals in five minutes, by default', async () => {
    const { ask, asked } = await startAdmin()
    const { json } = await ask('GET', 'top')
    expect(json).toMatchObject({ by: 'refused', period: '5m', since: '2026-03-01T09:55:30.000Z', nodes: 1 })
    await ask('GET', 'top?by=used&period=24h&limit=3')
    expect(asked).toEqual([
      ['refused', '5m', 50],
      ['used', '24h', 3],
    ])
    for (const wrong of ['limit=51', 'limit=0', 'by=cost', 'period=7d', 'scope=node']) {
      expect([wrong, (await ask('GET', `top?${wrong}`)).status]).toEqual([wrong, 400])
    }
  })

  it('of changes is of the last hour, by default, and of a month at most', async () => {
    const { ask, asked, clock } = await startAdmin()
    expect((await ask('GET', 'changes')).json).toMatchObject({ since: '2026-03-01T09:00:30.000Z' })
    expect(asked).toEqual([[clock.ms - 3_600_000, 500]])
    expect((await ask('GET', 'changes?since=2026-02-01T00:00:00Z')).status).toBe(200)
    for (const wrong of ['2026-01-01T00:00:00Z', 'yesterday']) {
      expect((await ask('GET', `changes?since=${wrong}`)).json.code).toBe('ADMIN_REQUEST_INVALID')
    }
  })

  it('of use by tier is no API key of that name', async () => {
    const { ask } = await startAdmin()
    expect((await ask('GET', 'usage/by-tier')).json.tiers).toMatchObject([
      { tier: 'enterprise', customers: 2 },
      { tier: null, cost: -1 },
    ])
  })

  it('of the audit log is narrowed by kind, and by the name of who made a change', async () => {
    const { ask } = await startAdmin()
    await ask('POST', 'customers', { body: { id: 'acme' } })
    await ask('POST', 'blocks', { body: { customer_id: 'acme' }, as: 'operator' })
    const kinds = async (query: string) =>
      (await ask('GET', `audit?${query}`)).json.items?.map(({ target }) => (target as { kind: string }).kind)
    expect(await kinds('kind=blocks')).toEqual(['blocks'])
    expect(await kinds('actor=the%20admin')).toEqual(['customers'])
    expect((await ask('GET', 'audit?kind=everything')).status).toBe(400)
  })
})

describe('a record that has no effect', () => {
  it('says why, wherever it is answered', async () => {
    const { ask, problems } = await startAdmin()
    problems.ofTier = ({ name }) => `${name} is wrong`
    problems.ofOverride = () => 'no such algorithm'
    await ask('POST', 'customers', { body: { id: 'acme' } })
    const put = await ask('PUT', 'tiers/shop/gold', { body: { limits: { rate_limit: LIMIT } } })
    expect(put.json.problem).toBe('gold is wrong')
    expect((await ask('GET', 'tiers')).json.items).toMatchObject([{ problem: 'gold is wrong' }])
    const made = await ask('POST', 'customers/acme/overrides', { body: LIMIT })
    expect(made.json.problem).toBe('no such algorithm')
    expect((await ask('GET', 'customers/acme/overrides')).json.items).toMatchObject([{ problem: 'no such algorithm' }])
    problems.ofOverride = () => undefined
    expect((await ask('GET', `customers/acme/overrides/${made.json.id}`)).json.problem).toBe(null)
  })
})
