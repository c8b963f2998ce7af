import { describe, expect, it } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'

const PUT = {
  tier: 'enterprise',
  overrides: [{ descriptor: 'endpoint:POST /api/v1/orders', requests_per_unit: 500, unit: 'minute' }],
  effective_at: '2025-02-01T00:00:00Z',
  expires_at: null,
}

describe('quotas of an API key', () => {
  it('are put and read', async () => {
    const { ask } = await startAdmin()
    const put = await ask('PUT', 'quotas/abc123', { body: PUT, as: 'operator' })
    expect(put.status).toBe(200)
    const quota = {
      api_key: 'abc123',
      tier: 'enterprise',
      quotas: {
        default: { requests_per_unit: 5000, unit: 'minute', domain: 'shop', rule: 'api_key' },
        overrides: [{ ...PUT.overrides[0], domain: null, rule: null }],
      },
      updated_at: '2026-03-01T10:00:30.000Z',
    }
    expect(put.json).toEqual({ ...quota, in_force_on: [], in_force_on_total: 0, warnings: [] })
    expect((await ask('GET', 'quotas/abc123', { as: 'viewer' })).json).toEqual(quota)
  })

  it('replace those before, and go', async () => {
    const { ask, quotas } = await startAdmin()
    const idsOf = async () => (await quotas.list('overrides', { limit: 10 })).items.map(({ id }) => id)
    await ask('PUT', 'quotas/abc123', { body: PUT })
    const first = await idsOf()
    const again = await ask('PUT', 'quotas/abc123', {
      body: {
        overrides: [
          { requests_per_unit: 9, unit: 'hour' },
          { ...PUT.overrides[0], requests_per_unit: 7 },
        ],
      },
    })
    expect(again.json).toMatchObject({
      tier: 'enterprise',
      quotas: {
        default: { requests_per_unit: 9, unit: 'hour', domain: null, rule: null },
        overrides: [{ descriptor: 'endpoint:POST /api/v1/orders', requests_per_unit: 7, unit: 'minute' }],
      },
    })
    expect([first.length, (await idsOf()).length]).toEqual([1, 2])
    expect(await idsOf()).toEqual(expect.arrayContaining(first))
    expect((await ask('DELETE', 'quotas/abc123')).status).toBe(200)
    expect(await idsOf()).toEqual([])
    expect((await ask('GET', 'quotas/abc123')).json.code).toBe('RECORD_UNKNOWN')
  })

  it('are one for each descriptor and scope', async () => {
    const { ask, quotas } = await startAdmin()
    const [plain] = PUT.overrides
    const overrides = [plain, { ...plain, domain: 'shop' }, { ...plain, domain: 'shop', rule: 'api_key' }]
    const { json } = await ask('PUT', 'quotas/abc123', { body: { overrides } })
    expect(json.quotas).toMatchObject({ overrides: [{ domain: null }, { rule: null }, { rule: 'api_key' }] })
    const idsOf = async () => new Set((await quotas.list('overrides', { limit: 10 })).items.map(({ id }) => id))
    const ids = await idsOf()
    await ask('PUT', 'quotas/abc123', { body: { overrides: overrides.toReversed() } })
    expect(await idsOf()).toEqual(ids)
    const twice = await ask('PUT', 'quotas/abc123', { body: { overrides: [overrides[2], overrides[2]] } })
    expect([twice.json.code, twice.json.detail]).toEqual([
      'ADMIN_REQUEST_INVALID',
      expect.stringContaining('given twice'),
    ])
  })

  it.each<[claim: string, scope: object, shown: object]>([
    ['the rule, where the own limit is for another domain', { domain: 'llm' }, { requests_per_unit: 5000 }],
    ['the own limit, where it is for the domain of the rule', { domain: 'shop' }, { requests_per_unit: 3 }],
    ['the own limit, where it names the rule', { domain: 'shop', rule: 'api_key' }, { requests_per_unit: 3 }],
    ['the rule, where the own limit names another', { domain: 'shop', rule: 'other' }, { requests_per_unit: 5000 }],
    [
      'the rule, where the own limit is below it',
      { domain: 'shop', descriptor: 'path:/a' },
      { requests_per_unit: 5000 },
    ],
  ])('have a default that names its rule: that of %s', async (_, scope, shown) => {
    const { ask } = await startAdmin()
    const overrides = [{ ...scope, requests_per_unit: 3, unit: 'minute' }]
    await ask('PUT', 'quotas/abc123', { body: { tier: 'enterprise', overrides } })
    expect((await ask('GET', 'quotas/abc123')).json.quotas).toMatchObject({
      default: { ...shown, unit: 'minute', domain: 'shop', rule: 'api_key' },
      overrides: [scope],
    })
  })

  it('name the more exact of two own limits at the rule of the default', async () => {
    const { ask } = await startAdmin()
    const per = (requests_per_unit: number, rule?: string) => ({
      ...{ requests_per_unit, unit: 'hour', domain: 'shop', rule },
    })
    await ask('PUT', 'quotas/abc123', { body: { tier: 'enterprise', overrides: [per(3), per(4, 'calls')] } })
    expect((await ask('GET', 'quotas/abc123')).json.quotas).toMatchObject({ default: { requests_per_unit: 4 } })
  })

  it('of a key that has a customer leave the key when they go', async () => {
    const { ask } = await startAdmin()
    await ask('POST', 'customers', { body: { id: 'acme' } })
    const { json } = await ask('POST', 'customers/acme/keys', { body: { key: 'abc12345' } })
    await ask('PUT', 'quotas/abc12345', { body: PUT })
    await ask('DELETE', 'quotas/abc12345')
    expect((await ask('GET', `customers/acme/keys/${json.id}`)).json).toMatchObject({ tier: null, revoked_at: null })
  })

  it('do not name one thing twice', async () => {
    const { ask } = await startAdmin()
    const overrides = [PUT.overrides[0], PUT.overrides[0]]
    expect((await ask('PUT', 'quotas/abc123', { body: { overrides } })).json.detail).toContain('given twice')
  })

  it('keep no key in clear', async () => {
    const { ask, quotas, audited } = await startAdmin()
    await ask('PUT', 'quotas/a_very_secret_key', { body: PUT })
    const { items } = await quotas.list('api_keys', { limit: 1 })
    expect(JSON.stringify([items, await audited()])).not.toContain('secret')
  })

  it('show what was used', async () => {
    const { ask, counters, clock } = await startAdmin()
    await ask('PUT', 'quotas/abc123', { body: PUT })
    const limit = {
      ...{ domain: 'shop', above: '', ruleId: 'api_key', ruleName: 'api_key', isPattern: false },
      ...{ windowMs: 60_000, unit: 'minute', timeZone: undefined },
    } as const
    const startMs = clock.ms - (clock.ms % 60_000)
    const window = { windowStartMs: startMs, resetAtMs: startMs + 60_000 }
    counters.limits = [
      {
        descriptor: 'default',
        source: { kind: 'tier', id: 'enterprise' },
        limit: 5000,
        used: 53,
        remaining: 4947,
        ...limit,
        ...window,
      },
      {
        descriptor: 'endpoint:POST /api/v1/orders',
        source: { kind: 'key_override', id: 'x' },
        limit: 500,
        used: 18,
        remaining: 482,
        ...limit,
        ...window,
      },
    ]
    expect((await ask('GET', 'usage/abc123')).json).toEqual({
      api_key: 'abc123',
      current_window: { start: '2026-03-01T10:00:00.000Z', end: '2026-03-01T10:01:00.000Z' },
      usage: {
        default: { used: 53, limit: 5000, remaining: 4947 },
        'endpoint:POST /api/v1/orders': { used: 18, limit: 500, remaining: 482 },
      },
    })
  })
})

describe('exports', () => {
  it('of usage are CSV that no spreadsheet runs', async () => {
    const { ask, used, clock } = await startAdmin()
    const figures = { atMs: clock.ms - 1, allowed: 2, refused: 1, cost: -3 }
    await used(
      { customerId: 'a', limit: '=HYPERLINK("http://evil","x")', ...figures },
      { customerId: '@b', limit: '+1, "quoted"\n', ...figures },
    )
    const query = 'from=2026-02-01T00:00:00Z&to=2026-03-02T00:00:00Z&format=csv'
    const answer = await ask('GET', `usage?${query}`)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('sluice-complete-until')).toBe(new Date(clock.ms - 2_000).toISOString())
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="sluice-usage.csv"')
    expect(answer.text.split('\r\n')).toEqual([
      'customer_id,limit,at,allowed,refused,cost',
      `'@b,"'+1, ""quoted""\n",2026-03-01T00:00:00.000Z,2,1,-3`,
      `a,"'=HYPERLINK(""http://evil"",""x"")",2026-03-01T00:00:00.000Z,2,1,-3`,
      '',
    ])
  })

  it('of the audit log are CSV or a line of JSON for each entry, page by page', async () => {
    const { ask } = await startAdmin()
    for (const id of ['a', 'b', 'c']) await ask('POST', 'customers', { body: { id } })
    const csv = await ask('GET', 'audit?format=csv&page_size=2')
    expect(csv.text.split('\r\n')).toHaveLength(4)
    const next = csv.headers.get('sluice-next-cursor')
    const rest = await ask('GET', `audit?format=csv&page_size=2&cursor=${next}`)
    expect([rest.text.split('\r\n').length, rest.headers.get('sluice-next-cursor')]).toEqual([3, null])
    const lines = (await ask('GET', 'audit?format=jsonl')).text.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).target.id)).toEqual(['c', 'b', 'a'])
  })

  it('cover a time that is not too long', async () => {
    const { ask } = await startAdmin()
    const answer = await ask('GET', 'usage?from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&granularity=hour')
    expect([answer.status, answer.json.code]).toEqual([400, 'ADMIN_REQUEST_INVALID'])
  })
})
