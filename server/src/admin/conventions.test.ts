import { describe, expect, it } from 'vitest'
import { startAdmin } from './admin-kit.suite.ts'

const CREATE = { id: 'acme', name: 'Acme', tier: 'enterprise' }

describe('versions', () => {
  it('a change of a record names the version that it was made from', async () => {
    const { ask } = await startAdmin()
    const made = await ask('POST', 'customers', { body: CREATE })
    expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"'])
    const missing = await ask('PATCH', 'customers/acme', { body: { name: 'A' } })
    expect([missing.status, missing.json.code]).toEqual([428, 'VERSION_REQUIRED'])
    const first = await ask('PATCH', 'customers/acme', { body: { name: 'A' }, headers: { 'if-match': '"1"' } })
    expect([first.status, first.json.name, first.headers.get('etag')]).toEqual([200, 'A', '"2"'])
    const stale = await ask('PATCH', 'customers/acme', { body: { name: 'B' }, headers: { 'if-match': '"1"' } })
    expect([stale.status, stale.json.code]).toEqual([412, 'VERSION_STALE'])
    expect((await ask('GET', 'customers/acme')).json.name).toBe('A')
  })

  it.each(['1', 'abc', '"x"', '"1", "2"'])('If-Match: %s is refused', async (given) => {
    const { ask } = await startAdmin()
    await ask('POST', 'customers', { body: CREATE })
    const answer = await ask('DELETE', 'customers/acme', { headers: { 'if-match': given } })
    expect([answer.status, answer.json.code]).toEqual([400, 'ADMIN_REQUEST_INVALID'])
  })

  it('a tier is made without a version, and replaced with one', async () => {
    const { ask } = await startAdmin()
    const body = { limits: { rate_limit: { unit: 'day', requests_per_unit: 5 } } }
    expect((await ask('PUT', 'tiers/shop/gold', { body })).status).toBe(200)
    expect((await ask('PUT', 'tiers/shop/gold', { body })).json.code).toBe('VERSION_REQUIRED')
    expect((await ask('PUT', 'tiers/shop/gold', { body, headers: { 'if-match': '"1"' } })).json.version).toBe(2)
  })

  it('a switch needs none: it is for an incident', async () => {
    const { ask } = await startAdmin()
    const off = await ask('PUT', 'rules/switches', {
      body: { rule: null, mode: 'off', reason: 'fire' },
      as: 'operator',
    })
    expect([off.status, off.json.mode, off.json.rule]).toEqual([200, 'off', null])
    expect((await ask('PUT', 'rules/switches', { body: { rule: null, mode: 'shadow' } })).json.version).toBe(2)
    expect((await ask('DELETE', 'rules/switches')).status).toBe(204)
    const unknown = await ask('PUT', 'rules/switches', { body: { rule: { domain: 'shop', id: 'typo' }, mode: 'off' } })
    expect([unknown.status, unknown.json.code]).toEqual([404, 'RECORD_UNKNOWN'])
  })

  it('nor does the switch of a layer, which is for operators, and listed for all', async () => {
    const { ask } = await startAdmin()
    const put = (mode: string, as = 'operator') =>
      ask('PUT', 'layers', { body: { layer: 'worker', mode, reason: 'fire' }, as: as as 'operator' })
    expect((await put('off', 'viewer')).status).toBe(403)
    expect((await put('fast')).status).toBe(400)
    expect((await put('shadow')).json).toMatchObject({ layer: 'worker', mode: 'shadow', reason: 'fire', version: 1 })
    expect((await put('on')).json).toMatchObject({ mode: 'on', version: 2 })
    const { items } = (await ask('GET', 'layers', { as: 'viewer' })).json as {
      items: { layer: string; mode: unknown }[]
    }
    expect(items.map(({ layer, mode }) => [layer, mode])).toEqual([
      ['rate', null],
      ['concurrency', null],
      ['fleet', null],
      ['worker', 'on'],
      ['upstream', null],
    ])
    expect((await ask('DELETE', 'layers?layer=worker')).status).toBe(204)
    expect((await ask('DELETE', 'layers?layer=worker')).json.code).toBe('RECORD_UNKNOWN')
  })
})

describe('idempotency keys', () => {
  it('a repeated creation gets the first answer, its secret included, and nothing is made twice', async () => {
    const { ask, quotas } = await startAdmin()
    await ask('POST', 'customers', { body: CREATE })
    const request = { body: { name: 'main' }, headers: { 'idempotency-key': '"8e03978e-40d5-43dd-bc93-6894a57f9324"' } }
    const first = await ask('POST', 'customers/acme/keys', request)
    const second = await ask('POST', 'customers/acme/keys', request)
    expect(first.json.key).toMatch(/^sk_[\w-]{32}$/)
    expect([second.status, second.text, second.headers.get('etag')]).toEqual([
      201,
      first.text,
      first.headers.get('etag'),
    ])
    expect([first, second].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true'])
    expect((await quotas.list('api_keys', { limit: 10 })).items).toHaveLength(1)
  })

  it('a key is good for one request: with another body or path it is refused', async () => {
    const { ask } = await startAdmin()
    const headers = { 'idempotency-key': 'k-1' }
    await ask('POST', 'customers', { body: CREATE, headers })
    const other = await ask('POST', 'customers', { body: { id: 'other' }, headers })
    expect([other.status, other.json.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    const path = await ask('POST', 'blocks', { body: CREATE, headers })
    expect(path.status).toBe(400)
  })

  it('two at the same time make one record, and the second is asked to wait', async () => {
    const { ask, quotas } = await startAdmin()
    let resume = (): void => {}
    const paused = new Promise<void>((resolve) => {
      resume = resolve
    })
    const put = quotas.put.bind(quotas)
    let begun = (): void => {}
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    quotas.put = async (...args) => {
      begun()
      await paused
      return put(...args) as never
    }
    const request = { body: CREATE, headers: { 'idempotency-key': 'k-1' } }
    const first = ask('POST', 'customers', request)
    await hasBegun
    const second = await ask('POST', 'customers', request)
    resume()
    expect([second.status, second.json.code]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS'])
    expect((await first).status).toBe(201)
  })

  it("a key is its token's own: another token may use the same", async () => {
    const { ask } = await startAdmin()
    const headers = { 'idempotency-key': 'k-1' }
    expect((await ask('POST', 'customers', { body: { id: 'a' }, headers })).status).toBe(201)
    expect((await ask('POST', 'customers', { body: { id: 'b' }, headers, as: 'operator' })).status).toBe(201)
  })

  it('is forgotten after 24 hours, and after a failure of ours', async () => {
    const { ask, clock, quotas } = await startAdmin()
    const headers = { 'idempotency-key': 'k-1' }
    const put = quotas.put.bind(quotas)
    quotas.put = async () => {
      throw new Error('the database is unavailable')
    }
    const failed = await ask('POST', 'customers', { body: CREATE, headers })
    expect([failed.status, failed.json.code, failed.text.includes('database')]).toEqual([500, 'ADMIN_FAILED', false])
    quotas.put = put
    expect((await ask('POST', 'customers', { body: CREATE, headers })).status).toBe(201)
    clock.ms += 24 * 3_600_000
    expect((await ask('POST', 'customers', { body: { id: 'other' }, headers })).status).toBe(201)
  })
})

describe('lists', () => {
  it('go page by page, and each record comes once', async () => {
    const { ask } = await startAdmin()
    for (const id of ['a', 'b', 'c', 'd', 'e']) await ask('POST', 'customers', { body: { id } })
    const seen: unknown[] = []
    let cursor = ''
    do {
      const page = await ask('GET', `customers?page_size=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...(page.json.items ?? []).map(({ id }) => id))
      cursor = (page.json.next_cursor as string | null) ?? ''
    } while (cursor !== '')
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('are narrowed by search and filter', async () => {
    const { ask } = await startAdmin()
    await ask('POST', 'customers', { body: { id: 'acme', tier: 'pro' } })
    await ask('POST', 'customers', { body: { id: 'zeta', name: 'acme two', status: 'suspended' } })
    const ids = async (query: string) => (await ask('GET', `customers?${query}`)).json.items?.map(({ id }) => id)
    expect(await ids('search=acme')).toEqual(['acme', 'zeta'])
    expect(await ids('tier=pro')).toEqual(['acme'])
    expect(await ids('status=suspended')).toEqual(['zeta'])
  })
})

describe('changes', () => {
  it('are noted with who, from where and why', async () => {
    const { ask, audited, tokens } = await startAdmin()
    await ask('POST', 'customers', { body: CREATE, as: 'operator', headers: { 'sluice-reason': 'gr%C3%BC%C3%9Fe' } })
    await ask('POST', 'blocks', { body: { customer_id: 'acme', reason: 'abuse' }, as: 'operator' })
    const operator = (await tokens.list()).find(({ role }) => role === 'operator')
    const by = { id: operator?.id, name: 'the operator', address: '127.0.0.1' }
    expect((await audited()).map(({ action, actor }) => [action, actor])).toEqual([
      ['customers.put', { ...by, reason: 'grüße' }],
      ['blocks.put', { ...by, reason: 'abuse' }],
    ])
  })

  it('refuse what makes no sense', async () => {
    const { ask } = await startAdmin()
    await ask('POST', 'customers', { body: CREATE })
    const limit = { requests_per_unit: 5, unit: 'minute' }
    const past = { ...limit, effective_at: '2026-03-02T00:00:00Z', expires_at: '2026-03-01T00:00:00Z' }
    expect((await ask('POST', 'customers/acme/overrides', { body: past })).json.detail).toContain('it would end before')
    expect((await ask('POST', 'customers', { body: { id: 'b', time_zone: 'Mars/Base' } })).json.detail).toContain(
      'Mars/Base',
    )
    expect((await ask('POST', 'customers', { body: { id: 'b', period_anchor: '2026-02-30' } })).status).toBe(400)
    expect((await ask('POST', 'customers', { body: CREATE })).json.code).toBe('RECORD_EXISTS')
    expect((await ask('POST', 'blocks', { body: { cidr: '300.0.0.0/8' } })).json.code).toBe('RULE_CIDR_INVALID')
    expect((await ask('POST', 'blocks', { body: { cidr: '10.0.0.0/8', customer_id: 'acme' } })).status).toBe(400)
    expect(
      (
        await ask('POST', 'customers/acme/overrides', {
          body: { ...limit, algorithm: 'gcra', requests_per_unit: 4e9, unit: 'second' },
        })
      ).json.code,
    ).toBe('RATE_TOO_HIGH')
    expect((await ask('POST', 'customers', { body: { id: 'b', teir: 'pro' } })).json.detail).toContain('unknown "teir"')
  })

  it("an override of another customer's is not found", async () => {
    const { ask } = await startAdmin()
    for (const id of ['a', 'b']) await ask('POST', 'customers', { body: { id } })
    const made = await ask('POST', 'customers/a/overrides', { body: { requests_per_unit: 5, unit: 'minute' } })
    const headers = { 'if-match': '*' }
    expect((await ask('DELETE', `customers/b/overrides/${made.json.id}`, { headers })).status).toBe(404)
    expect((await ask('DELETE', `customers/a/overrides/${made.json.id}`, { headers })).status).toBe(200)
  })

  it('an API key is kept as a hash, and shown by its prefix', async () => {
    const { ask, quotas } = await startAdmin()
    await ask('POST', 'customers', { body: CREATE })
    const brought = await ask('POST', 'customers/acme/keys', { body: { key: 'live_0123456789abcdef' } })
    expect([brought.status, brought.json.key, brought.json.prefix]).toEqual([201, null, 'live_'])
    const [record] = (await quotas.list('api_keys', { limit: 1 })).items
    expect(JSON.stringify(record)).not.toContain('0123456789')
    const twice = await ask('POST', 'customers/acme/keys', { body: { key: 'live_0123456789abcdef' } })
    expect([twice.status, twice.json.code]).toEqual([409, 'RECORD_EXISTS'])
    expect(twice.text).not.toContain('0123456789')
  })
})

describe('rules', () => {
  it('that are wrong are refused with the errors of sluice check, at their lines', async () => {
    const { ask } = await startAdmin()
    const text =
      'domain: more\ndescriptors:\n  - key: a\n    rate_limit: {unit: dya, requests_per_unit: 1}\n  - key: a\n'
    const headers = { 'if-match': '*' }
    const answer = await ask('PUT', 'rules/active?dry_run=true', { body: { text }, headers })
    expect([answer.status, answer.json.code, answer.json.omitted]).toEqual([422, 'RULE_INVALID', 0])
    const [problem] = answer.json.problems as { line: number; code: string; file: string }[]
    expect([problem.file, problem.line, problem.code]).toEqual(['rules table', 4, 'RULE_INVALID'])
  })

  it('are compiled once for each change: 10,000 of them take a second', async () => {
    const { ask, ruleTable } = await startAdmin()
    const compiled: string[] = []
    ruleTable.checkWith(async (text) => {
      compiled.push(text)
      return { limits: 1, domains: ['more'] }
    })
    const text = 'domain: more\ndescriptors: []\n'
    expect((await ask('PUT', 'rules/active', { body: { text }, headers: { 'if-match': '*' } })).status).toBe(200)
    expect((await ask('POST', 'rules/versions/1/activate')).status).toBe(200)
    expect(compiled).toEqual([text, text])
  })

  it('go back to a version in one call', async () => {
    const { ask } = await startAdmin()
    const yaml = (key: string): string =>
      `domain: more\ndescriptors:\n  - key: ${key}\n    rate_limit: {unit: day, requests_per_unit: 1}\n`
    await ask('PUT', 'rules/active', { body: { text: yaml('a') }, headers: { 'if-match': '"0"' } })
    const second = await ask('PUT', 'rules/active', { body: { text: yaml('b') }, headers: { 'if-match': '"1"' } })
    expect(second.headers.get('etag')).toBe('"2"')
    const stale = await ask('PUT', 'rules/active', { body: { text: yaml('c') }, headers: { 'if-match': '"1"' } })
    expect(stale.status).toBe(412)
    const back = await ask('POST', 'rules/versions/1/activate')
    expect([back.status, back.json.version]).toEqual([200, 3])
    expect((await ask('GET', 'rules/active')).json.text).toBe(yaml('a'))
  })

  it('are shown as a tree, as they are understood', async () => {
    const { ask } = await startAdmin()
    const { domains } = (await ask('GET', 'rules?domain=shop')).json as { domains: [{ patterns: { id: string }[] }] }
    expect(domains[0].patterns.map(({ id }) => id)).toEqual(['user', 'api_key'])
    expect(JSON.stringify(domains)).toContain('"tier":"enterprise"')
    expect((await ask('GET', 'rules?domain=nothing')).json.domains).toEqual([])
  })
})

describe('explain', () => {
  it('says which rules match, how far they are used, and what would admit the request', async () => {
    const { ask, counters } = await startAdmin()
    const body = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] }
    expect((await ask('POST', 'explain', { body })).json).toMatchObject({
      admitted: true,
      counters: [{ rule_id: 'user', limit: 20, what_would_admit: 'It is admitted: 20 of 20 are left.' }],
    })
    counters.used = 20
    expect((await ask('POST', 'explain', { body, as: 'viewer' })).json).toMatchObject({
      admitted: false,
      matched: [{ note: null, steps: [{ key: 'user', value: 'alice', how: 'any value', pattern: 'user' }] }],
      counters: [
        {
          would_refuse: true,
          what_would_admit: 'Wait 42 s, raise the limit above 20, grant extra budget, or reset the counter.',
        },
      ],
    })
  })

  it('shows no secret values', async () => {
    const { ask } = await startAdmin()
    const body = { domain: 'shop', descriptors: [{ entries: [{ key: 'api_key', value: 'sk_very_secret' }] }] }
    const answer = await ask('POST', 'explain', { body })
    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain('very_secret')
  })

  it('shows no API key, whatever the rules say of it', async () => {
    const { ask } = await startAdmin()
    const entries = [
      { key: 'user', value: 'alice' },
      { key: 'x-api-key', value: 'sk_very_secret' },
    ]
    const { json } = await ask('POST', 'explain', { body: { domain: 'shop', descriptors: [{ entries }] } })
    expect(json.matched).toMatchObject([
      {
        steps: [
          { key: 'user', value: 'alice' },
          { key: 'x-api-key', value: null },
        ],
      },
    ])
  })
})
