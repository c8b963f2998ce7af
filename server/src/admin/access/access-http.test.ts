import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it, vi } from 'vitest'
import { startAdmin } from '../admin-kit.suite.ts'
import { newToken } from './admin-tokens.ts'
import { isLoopback, requireSafeBind } from './loopback.ts'

const cookieOf = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0]

describe('tokens', () => {
  it('are kept as hashes, and shown once', async () => {
    const { ask, tokens } = await startAdmin()
    const made = await ask('POST', 'tokens', { body: { name: 'ci', role: 'operator' } })
    expect(made.json.token).toMatch(/^sluice_[\w-]{43}$/)
    expect(JSON.stringify(await tokens.list())).not.toContain(made.json.token as string)
    const listed = await ask('GET', 'tokens')
    expect(listed.text).not.toContain(made.json.token as string)
    expect(listed.text).not.toContain('hash')
    const headers = { authorization: `Bearer ${made.json.token as string}` }
    expect((await ask('GET', 'session', { headers, as: 'none' })).json).toMatchObject({
      name: 'ci',
      role: 'operator',
      via: 'token',
    })
  })

  it('show when they were used last', async () => {
    const { ask, clock } = await startAdmin()
    clock.ms += 5_000
    await ask('GET', 'session', { as: 'viewer' })
    const { tokens } = (await ask('GET', 'tokens')).json as { tokens: { role: string; last_used_at: string | null }[] }
    expect(tokens.map(({ role, last_used_at }) => [role, last_used_at])).toEqual([
      ['viewer', '2026-03-01T10:00:35.000Z'],
      ['operator', null],
      ['admin', '2026-03-01T10:00:35.000Z'],
      ['ledger', null],
    ])
  })

  it('end when they are revoked, and when their time is over', async () => {
    const { ask, clock, tokens } = await startAdmin()
    const body = { name: 'ci', role: 'viewer', expires_at: '2026-03-01T11:00:00Z' }
    const made = await ask('POST', 'tokens', { body })
    const asNew = { headers: { authorization: `Bearer ${made.json.token as string}` }, as: 'none' } as const
    expect((await ask('GET', 'nodes', asNew)).status).toBe(200)
    clock.ms = Date.parse('2026-03-01T11:00:00Z')
    expect((await ask('GET', 'nodes', asNew)).status).toBe(401)
    const viewer = (await tokens.list()).find(({ name }) => name === 'the viewer')
    await ask('DELETE', `tokens/${viewer?.id}`)
    const refused = await ask('GET', 'nodes', { as: 'viewer' })
    expect([refused.status, refused.json.code]).toEqual([401, 'ADMIN_TOKEN_REQUIRED'])
    expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="sluice-admin"')
  })

  it('do what their role covers', async () => {
    const { ask } = await startAdmin()
    const create = { body: { id: 'acme' } }
    const refused = await ask('POST', 'customers', { ...create, as: 'viewer' })
    expect([refused.status, refused.json.code]).toEqual([403, 'ROLE_INSUFFICIENT'])
    expect((await ask('POST', 'customers', { ...create, as: 'operator' })).status).toBe(201)
    const headers = { 'if-match': '*' }
    expect((await ask('DELETE', 'customers/acme', { headers, as: 'operator' })).status).toBe(403)
    expect((await ask('GET', 'tokens', { as: 'operator' })).status).toBe(403)
    expect((await ask('PUT', 'rules/active', { body: { text: 'x' }, headers, as: 'operator' })).status).toBe(403)
    expect((await ask('DELETE', 'customers/acme', { headers, as: 'admin' })).status).toBe(204)
  })

  it('that the operator set are as good, with their role', async () => {
    const setTokens = [{ role: 'viewer', token: 'a-token-for-prometheus' }] as const
    const { ask } = await startAdmin({ setTokens })
    const asSet = { headers: { authorization: 'Bearer a-token-for-prometheus' }, as: 'none' } as const
    expect((await ask('GET', 'session', asSet)).json).toMatchObject({ role: 'viewer', id: 'set-1' })
    expect((await ask('GET', 'tokens', asSet)).status).toBe(403)
  })
})

describe('failed logins', () => {
  it('are bounded for an address, and shut out no one who has a good token', async () => {
    const { ask, clock, token } = await startAdmin()
    const wrong = newToken({ name: 'x', role: 'admin' }, 0).token
    const tries = async () => (await ask('POST', 'session', { as: 'none', body: { token: wrong } })).status
    const statuses: number[] = []
    for (let i = 0; i < 15; i++) statuses.push(await tries())
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(5).fill(429)])
    const refused = await ask('POST', 'session', { as: 'none', body: { token: wrong } })
    expect([refused.json.code, refused.headers.get('retry-after')]).toEqual(['ADMIN_RATE_LIMITED', '6'])
    expect((await ask('GET', 'nodes')).status).toBe(200)
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.operator } })
    expect(login.status).toBe(200)
    clock.ms += 6_000
    expect([await tries(), await tries()]).toEqual([401, 429])
  })

  it('by a header are bounded as logins are', async () => {
    const { ask } = await startAdmin()
    const headers = { authorization: `Bearer ${newToken({ name: 'x', role: 'admin' }, 0).token}` }
    const statuses: number[] = []
    for (let i = 0; i < 12; i++) statuses.push((await ask('GET', 'nodes', { as: 'none', headers })).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
  })

  it('ask the database only about what looks like a token of ours', async () => {
    const { ask, tokens } = await startAdmin()
    const find = vi.spyOn(tokens, 'find')
    for (const token of ['x', 'sluice_short', `${'y'.repeat(1024)}`, "sluice_' OR 1=1 --"]) {
      expect((await ask('POST', 'session', { as: 'none', body: { token } })).status).toBe(401)
    }
    expect(find).not.toHaveBeenCalled()
  })
})

describe('sessions', () => {
  it('take the place of a token, in a cookie that no script reads', async () => {
    const { ask, token } = await startAdmin()
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.operator } })
    expect(login.json).toMatchObject({ role: 'operator', via: 'session', expires_at: '2026-03-01T22:00:30.000Z' })
    expect(login.headers.get('set-cookie')).toMatch(
      /^sluice_session=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect(login.text + cookieOf(login.headers)).not.toContain(token.operator)
    const headers = { cookie: `theme=dark; ${cookieOf(login.headers)}` }
    expect((await ask('GET', 'session', { headers, as: 'none' })).json).toMatchObject({
      role: 'operator',
      via: 'session',
    })
  })

  it.each([
    ['https', true],
    ['https, http', true],
    ['HTTPS', true],
    ['http, https', false],
    ['http', false],
  ])('are for https alone where the browser came by it (%s)', async (protocol, isSecure) => {
    const { ask, token } = await startAdmin()
    const headers = { 'x-forwarded-proto': protocol }
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.viewer }, headers })
    expect(/; Secure$/.test(login.headers.get('set-cookie') ?? '')).toBe(isSecure)
  })

  it('end with a logout, with their time, and with their token', async () => {
    const kit = await startAdmin()
    const open = async () => {
      const login = await kit.ask('POST', 'session', { as: 'none', body: { token: kit.token.viewer } })
      return { headers: { cookie: cookieOf(login.headers) }, as: 'none' } as const
    }
    const first = await open()
    expect((await kit.ask('DELETE', 'session', first)).headers.get('set-cookie')).toMatch(
      /^sluice_session=; .*Max-Age=0/,
    )
    expect((await kit.ask('GET', 'nodes', first)).status).toBe(401)
    const second = await open()
    kit.clock.ms += 12 * 3_600_000
    expect((await kit.ask('GET', 'nodes', second)).status).toBe(401)
    const third = await open()
    expect((await kit.ask('GET', 'nodes', third)).status).toBe(200)
    const viewer = (await kit.tokens.list()).find(({ name }) => name === 'the viewer')
    await kit.ask('DELETE', `tokens/${viewer?.id}`)
    expect((await kit.ask('GET', 'nodes', third)).status).toBe(401)
  })

  it('cannot be made up, or made longer', async () => {
    const { ask, token } = await startAdmin()
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.viewer } })
    const [name, value] = cookieOf(login.headers).split('=')
    const [id, expires, tokenId, signature] = value.split('.')
    const later = [id, String(Number(expires) + 1), tokenId, signature].join('.')
    const other = [id, expires, 'set-1', signature].join('.')
    for (const forged of [later, other, `${id}.${expires}.${tokenId}.`, '', 'x'.repeat(8_000)]) {
      expect((await ask('GET', 'nodes', { headers: { cookie: `${name}=${forged}` }, as: 'none' })).status).toBe(401)
    }
    // Planted by a neighbouring name: it is unknown which of the two is meant.
    const two = { cookie: `${name}=${value}; ${name}=${value}` }
    expect((await ask('GET', 'nodes', { headers: two, as: 'none' })).status).toBe(401)
  })
})

describe('without a token', () => {
  it('programs on this machine read as long as there is no token, and change nothing', async () => {
    const { ask } = await startAdmin({ withoutTokens: true })
    expect((await ask('GET', 'customers', { as: 'none' })).status).toBe(200)
    expect((await ask('GET', 'session', { as: 'none' })).json).toMatchObject({ role: 'viewer', via: 'loopback' })
    expect((await ask('POST', 'customers', { as: 'none', body: { id: 'a' } })).status).toBe(401)
    expect((await ask('GET', 'tokens', { as: 'none' })).status).toBe(403)
  })

  it('nothing but the list of paths and the probes is read once there is one, from this machine either', async () => {
    const { ask } = await startAdmin()
    for (const path of ['customers', '/stats', '/rlconfig']) {
      expect([path, (await ask('GET', path, { as: 'none' })).status]).toEqual([path, 401])
      expect([path, (await ask('GET', path, { as: 'viewer' })).status]).toEqual([path, 200])
    }
    for (const path of ['/', '/livez', '/readyz']) expect((await ask('GET', path, { as: 'none' })).status).toBe(200)
  })

  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])(
    'a client behind a proxy on this machine, by its %s, is not of this machine',
    async (name) => {
      const { ask } = await startAdmin({ withoutTokens: true })
      const headers = { [name]: '203.0.113.9' }
      expect((await ask('GET', 'customers', { as: 'none', headers })).status).toBe(401)
      expect((await ask('GET', '/stats', { as: 'none', headers })).status).toBe(401)
      expect((await ask('GET', '/', { as: 'none', headers })).status).toBe(200)
    },
  )

  it('pages follow /stats, and open ones need none', async () => {
    const answer = (_: unknown, response: { end(text: string): void }): void => response.end('ok')
    const pages = new Map([
      ['/admin/v1/hot-keys', { about: 'busy keys', answer }],
      ['/metrics', { about: 'for Prometheus', answer }],
    ])
    const { ask } = await startAdmin({ pages, openPaths: ['/metrics'] })
    const headers = { via: 'proxy' }
    expect((await ask('GET', 'hot-keys', { as: 'none' })).status).toBe(401)
    expect((await ask('GET', 'hot-keys', { as: 'none', headers })).status).toBe(401)
    expect((await ask('GET', 'hot-keys', { as: 'viewer', headers })).text).toBe('ok')
    expect((await ask('GET', '/metrics', { as: 'none', headers })).status).toBe(200)
  })

  it.each(['0.0.0.0', '::', '10.0.0.5', 'sluice.internal', '127.evil.example'])(
    'the port does not open on %s',
    (host) => {
      expect(() => requireSafeBind(host, false)).toThrow(
        `ADMIN_BIND_UNSAFE: --admin-host: got ${JSON.stringify(host)}, and there is no token. Without a token, the admin port listens only on loopback. Set SLUICE_ADMIN_TOKEN, or omit --admin-host.`,
      )
      expect(() => requireSafeBind(host, true)).not.toThrow()
    },
  )

  it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost', '::ffff:127.0.0.1'])('%s is of this machine', (host) => {
    expect(isLoopback(host)).toBe(true)
  })
})

describe('every answer', () => {
  it('has a strict policy, whatever it is', async () => {
    const { ask, url } = await startAdmin()
    const foreign = request(`${url}/stats`, { headers: { host: 'evil.example', connection: 'close' } })
    foreign.end()
    const [response] = await once(foreign, 'response')
    await text(response)
    expect(response.headers['content-security-policy']).toContain("default-src 'none'")
    for (const path of ['/', '/stats', '/nothing', 'customers', 'nothing', 'openapi.json']) {
      const { headers } = await ask('GET', path)
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(headers.get('content-security-policy')).not.toContain('unsafe')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    expect((await ask('GET', 'customers')).headers.get('cache-control')).toBe('no-store')
  })

  it('that is an error is a problem with a code', async () => {
    const { ask } = await startAdmin()
    const code = async (...asked: Parameters<typeof ask>) => {
      const { status, headers, json } = await ask(...asked)
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(json).toMatchObject({ type: 'about:blank', status })
      return [status, json.code]
    }
    expect(await code('GET', 'nothing')).toEqual([404, 'ADMIN_PATH_UNKNOWN'])
    expect(await code('POST', 'nodes')).toEqual([405, 'ADMIN_METHOD_INVALID'])
    expect((await ask('POST', 'nodes')).headers.get('allow')).toBe('GET, HEAD')
    expect(await code('GET', 'customers/none')).toEqual([404, 'RECORD_UNKNOWN'])
    expect(await code('GET', 'customers?page_size=0')).toEqual([400, 'ADMIN_REQUEST_INVALID'])
    expect(await code('POST', 'customers', { body: '{"id":' })).toEqual([400, 'ADMIN_REQUEST_INVALID'])
    expect(await code('POST', 'customers', { body: '{}', headers: { 'content-type': 'text/plain' } })).toEqual([
      415,
      'CONTENT_TYPE_INVALID',
    ])
  })
})
