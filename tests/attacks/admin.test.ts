import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { AdminTokens } from '../../server/src/admin/access/admin-tokens.ts'
import { startAdmin } from '../../server/src/admin/admin-kit.suite.ts'
import { KeptAnswers } from '../../server/src/admin/api/kept-answers.ts'
import { until } from '../servers/until.mjs'

/** Sends a request as it is, and returns the status line and the body. */
async function raw(url: string, head: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(`${head}\r\nConnection: close\r\n\r\n`)
  return text(socket)
}

const codeIn = (answer: string): string | undefined => /"code":"(\w+)"/.exec(answer)?.[1]

describe('bodies', () => {
  it('that are too large are refused, and so are the ones that only claim to be', async () => {
    const { ask } = await startAdmin()
    const body = JSON.stringify({ id: 'a', name: 'x'.repeat(70_000) })
    const answer = await ask('POST', 'customers', { body })
    expect([answer.status, answer.json.code, answer.headers.get('connection')]).toEqual([
      413,
      'ADMIN_BODY_TOO_LARGE',
      'close',
    ])
  })

  it('with rules may have a megabyte, and not more', async () => {
    const { ask } = await startAdmin()
    const text = `domain: a\n#${'x'.repeat(200_000)}\n`
    const headers = { 'if-match': '*' }
    expect((await ask('PUT', 'rules/active', { body: { text }, headers })).status).toBe(200)
    const tooLarge = { text: `domain: a\n#${'x'.repeat(1_100_000)}\n` }
    expect((await ask('PUT', 'rules/active', { body: tooLarge, headers })).status).toBe(413)
  })

  it.each(['[', '{"a":'])('that nest without end (%s) are refused before they are read', async (open) => {
    const { ask } = await startAdmin()
    const body = `{"id":"a","metadata":${open.repeat(10_000)}`
    const answer = await ask('POST', 'customers', { body })
    expect([answer.status, answer.json.detail]).toEqual([400, expect.stringContaining('nests deeper than 32 levels')])
    const limits = `{"limits":${'[1,'.repeat(31)}1${']'.repeat(31)}}`
    expect((await ask('PUT', 'tiers/shop/gold', { body: limits })).status).toBe(422)
  })

  it('with keys that JavaScript knows are data', async () => {
    const { ask } = await startAdmin()
    const body = '{"id":"a","metadata":{"__proto__":"x","constructor":"y"}}'
    const made = await ask('POST', 'customers', { body })
    expect([made.status, made.text.includes('"__proto__":"x"')]).toEqual([201, true])
    expect((await ask('POST', 'customers', { body: '{"id":"b","__proto__":{"tier":"pro"}}' })).status).toBe(400)
    expect(({} as { tier?: string }).tier).toBeUndefined()
  })

  it('that come without end are cut off, and hold nothing up', async () => {
    const bounds = { requestTimeoutMs: 500, headersTimeoutMs: 400, lookEveryMs: 50 }
    const { url, ask, token } = await startAdmin({ bounds })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(
      `POST /admin/v1/customers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token.admin}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    )
    const closed = once(socket, 'close')
    // On a busy machine, half a second may be too little for others, too.
    await until('another is answered', async () => (await ask('GET', 'customers')).status === 200)
    socket.resume()
    await closed
  })
})

describe('queries', () => {
  it('with thousands of parameters are refused without being read', async () => {
    const { ask } = await startAdmin()
    const answer = await ask('GET', `customers?${'a&'.repeat(4_000)}`)
    expect([answer.status, answer.json.detail]).toEqual([400, expect.stringContaining('more than 32 parameters')])
  })

  it('name each parameter once, and none that is not known', async () => {
    const { ask } = await startAdmin()
    expect((await ask('GET', 'customers?tier=a&tier=b')).status).toBe(400)
    expect((await ask('GET', 'customers?__proto__=b')).status).toBe(400)
    expect((await ask('GET', 'customers?page_size=1e2')).status).toBe(400)
  })
})

describe('cursors', () => {
  it('cannot be made, changed, or carried to another list', async () => {
    const { ask } = await startAdmin()
    for (const id of ['a', 'b', 'c']) await ask('POST', 'customers', { body: { id } })
    const { next_cursor: cursor } = (await ask('GET', 'customers?page_size=1')).json as { next_cursor: string }
    expect((await ask('GET', `customers?page_size=1&cursor=${cursor}`)).status).toBe(200)
    const bytes = Buffer.from(cursor, 'base64url')
    bytes[bytes.length - 1] ^= 1
    const forged = [
      bytes.toString('base64url'),
      `${cursor}AAAA`,
      'x',
      Buffer.from('a').toString('base64url'),
      'A'.repeat(2_000),
    ]
    for (const each of forged) {
      expect((await ask('GET', `customers?cursor=${each}`)).json.code).toBe('CURSOR_INVALID')
    }
    expect((await ask('GET', `customers?tier=pro&cursor=${cursor}`)).json.code).toBe('CURSOR_INVALID')
    expect((await ask('GET', `blocks?cursor=${cursor}`)).json.code).toBe('CURSOR_INVALID')
  })
})

describe('paths', () => {
  it.each([
    '/admin/v1/../v1/customers',
    '/admin/v1/%2e%2e/customers',
    '/admin/v1/customers/%2e%2e',
    '/admin/v1/customers/..%2ftokens',
    '/admin/v1/customers/a%2fkeys',
    '/admin/v1/customers/%00',
    '/admin/v1/customers/a%00b',
    '/admin/v1/customers/%0d%0aSet-Cookie:x=1',
    '/admin/v1/customers/%c0%ae',
    '/admin/v1/customers/%',
    '/admin/v1//customers',
    '/admin/v1/customers/',
    '/admin/v1/tokens%2f',
    '/admin/v1/%63ustomers',
    '/admin/v1/',
  ])('%s leads nowhere', async (path) => {
    const { url, token } = await startAdmin()
    const answer = await raw(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token.admin}`)
    expect([answer.split('\r\n')[0], codeIn(answer)]).toEqual(['HTTP/1.1 404 Not Found', 'ADMIN_PATH_UNKNOWN'])
  })

  it('are decoded once: %252e%252e is a text, not a way up', async () => {
    const { ask, quotas } = await startAdmin()
    expect((await ask('PUT', 'quotas/%252e%252e', { body: {} })).json.api_key).toBe('%2e%2e')
    expect((await quotas.list('api_keys', { limit: 5 })).items).toHaveLength(1)
  })
})

describe('web pages', () => {
  const cookieOf = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0]

  it.each([
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://localhost:9999' }],
    [{ origin: 'http://127.0.0.1:1' }],
    [{}],
  ])('of another site change nothing with a cookie: %j', async (headers: Record<string, string>) => {
    const { ask, token } = await startAdmin()
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.admin } })
    const cookie = cookieOf(login.headers)
    const forged = await ask('POST', 'customers', { as: 'none', body: { id: 'x' }, headers: { ...headers, cookie } })
    expect([forged.status, forged.json.code]).toEqual([403, 'CROSS_SITE_REQUEST'])
    expect((await ask('GET', 'customers/x')).status).toBe(404)
  })

  it('of the dashboard do', async () => {
    const { ask, token, url } = await startAdmin()
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.admin } })
    const cookie = cookieOf(login.headers)
    const own = [{ origin: url }, { 'sec-fetch-site': 'same-origin' }] as Record<string, string>[]
    for (const [i, headers] of own.entries()) {
      const body = { id: `x-${i}` }
      expect((await ask('POST', 'customers', { as: 'none', body, headers: { ...headers, cookie } })).status).toBe(201)
    }
  })

  it('of another site log no one in or out', async () => {
    const { ask, token } = await startAdmin()
    const headers = { origin: 'https://evil.example' }
    expect((await ask('POST', 'session', { as: 'none', body: { token: token.admin }, headers })).status).toBe(403)
    expect((await ask('DELETE', 'session', { as: 'none', headers })).status).toBe(403)
  })

  it('under a name that leads here read nothing, with a token or without', async () => {
    const { url, token } = await startAdmin()
    for (const path of ['/admin/v1/customers', '/admin/v1/openapi.json', '/stats', '/']) {
      const asked = request(url + path, {
        headers: { host: 'evil.example', authorization: `Bearer ${token.admin}`, connection: 'close' },
      })
      asked.end()
      const [response] = await once(asked, 'response')
      expect([response.statusCode, codeIn(await text(response))]).toEqual([421, 'HOST_UNKNOWN'])
    }
  })

  it('send forms nowhere', async () => {
    const { ask } = await startAdmin()
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
      expect((await ask('POST', 'customers', { body: '{"id":"x"}', headers: { 'content-type': type } })).status).toBe(
        415,
      )
    }
  })
})

describe('tokens', () => {
  it('are compared by digests of one length, whatever was sent', async () => {
    const { tokens: store, clock } = await startAdmin()
    const asked: string[] = []
    store.find = async (hash) => {
      asked.push(hash)
      // A store that answers with something near: it is not taken at its word.
      return {
        id: 'x',
        name: 'x',
        role: 'admin',
        hash: `${hash.slice(0, -1)}${hash.endsWith('0') ? '1' : '0'}`,
        prefix: '',
        createdAtMs: 0,
        expiresAtMs: undefined,
        revokedAtMs: undefined,
        lastUsedAtMs: undefined,
      }
    }
    const tokens = new AdminTokens([{ role: 'admin', token: 'the-one-that-was-set' }], store, clock.now)
    expect(await tokens.identify(`sluice_${'a'.repeat(43)}`)).toBeUndefined()
    expect(asked).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
    for (const near of ['', 't', 'the-one-that-was-sea', 'the-one-that-was-set ', 'x'.repeat(1_000)]) {
      expect(await tokens.identify(near)).toBeUndefined()
    }
    expect(await tokens.identify('the-one-that-was-set')).toMatchObject({ role: 'admin' })
  })
})

describe('floods', () => {
  it('of requests are refused for the address, and other addresses are served', async () => {
    const { ask, url, token } = await startAdmin()
    const headers = { authorization: `Bearer ${token.viewer}` }
    expect((await ask('GET', '/stats', { as: 'none', headers })).status).toBe(200)
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.operator } })
    const statuses = new Map<number, number>()
    for (let i = 0; i < 608; i++) {
      const { status } = await ask('GET', '/stats', { as: 'none' })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect([...statuses]).toEqual([
      [401, 598],
      [429, 10],
    ])
    const other = request(`${url}/`, { localAddress: '127.0.0.2', headers: { connection: 'close' } })
    other.end()
    const [response] = await once(other, 'response')
    expect(response.statusCode).toBe(200)
    // Behind one proxy, all have the address of the flood: known tokens and sessions go on.
    expect((await ask('GET', '/stats', { as: 'none', headers })).status).toBe(200)
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0]
    expect((await ask('GET', 'nodes', { as: 'none', headers: { cookie } })).status).toBe(200)
    for (const probe of ['/livez', '/readyz']) expect((await ask('GET', probe, { as: 'none' })).status).toBe(200)
  })

  it('of one token are refused for that token alone', async () => {
    const { ask, tokens } = await startAdmin()
    const find = vi.spyOn(tokens, 'find')
    const statuses = new Map<number, number>()
    for (let i = 0; i < 610; i++) {
      const { status } = await ask('GET', '/stats', { as: 'viewer' })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect([...statuses]).toEqual([
      [200, 600],
      [429, 10],
    ])
    expect((await ask('GET', '/stats', { as: 'operator' })).status).toBe(200)
    expect(find).toHaveBeenCalled()
  })

  it('of a session that was revoked are refused before its token is looked up', async () => {
    const { ask, tokens, token } = await startAdmin()
    const login = await ask('POST', 'session', { as: 'none', body: { token: token.viewer } })
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0]
    const viewer = (await tokens.list()).find(({ name }) => name === 'the viewer')
    await ask('DELETE', `tokens/${viewer?.id}`)
    const statuses = new Map<number, number>()
    for (let i = 0; i < 610; i++) {
      const { status } = await ask('GET', 'nodes', { as: 'none', headers: { cookie } })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect([...statuses]).toEqual([
      [401, 600],
      [429, 10],
    ])
  })

  it('of idempotency keys are bounded for a token, and for all', async () => {
    let nowMs = 0
    const kept = new KeptAnswers(() => nowMs)
    for (let i = 0; i < 1_000; i++) await kept.claim(`a-${i}`, 'a', 'f')
    await expect(kept.claim('a-more', 'a', 'f')).rejects.toThrow('IDEMPOTENCY_KEYS_TOO_MANY')
    for (let owner = 0; owner < 9; owner++) {
      for (let i = 0; i < 1_000; i++) await kept.claim(`${owner}-${i}`, `${owner}`, 'f')
    }
    await expect(kept.claim('b', 'b', 'f')).rejects.toThrow('IDEMPOTENCY_KEYS_TOO_MANY')
    expect(kept.size).toBe(10_000)
    // Nothing was forgotten before its time, and everything is after.
    expect(await kept.claim('a-0', 'a', 'f')).toEqual({ fingerprint: 'f', sealed: undefined })
    nowMs = 24 * 3_600_000
    expect(await kept.claim('b', 'b', 'f')).toBeUndefined()
    expect(kept.size).toBe(1)
  })

  it('of large answers under idempotency keys are bounded, too', async () => {
    const kept = new KeptAnswers(() => 0)
    const answer = 'x'.repeat(1_048_576)
    for (let i = 0; i < 32; i++) {
      await kept.claim(`a-${i}`, 'a', 'f')
      await kept.fill(`a-${i}`, async () => answer, String)
    }
    await expect(kept.claim('more', 'b', 'f')).rejects.toThrow('IDEMPOTENCY_KEYS_TOO_MANY')
    // What was done stays answered; what was not makes room.
    await kept.free('a-0')
    expect(await kept.claim('a-0', 'a', 'f')).toEqual({ fingerprint: 'f', sealed: answer })
  })
})

describe('live streams', () => {
  /** Opens a stream and returns its socket, which is read only when somebody asks. */
  async function watch(url: string, token: string): Promise<{ socket: Socket; status: string; read(): string }> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write(`GET /admin/v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    let seen = ''
    const status = new Promise<string>((resolve) => {
      socket.on('data', (chunk) => {
        seen += chunk.toString()
        if (seen.includes('\r\n')) resolve(seen.split('\r\n')[0])
      })
    })
    return { socket, status: await status, read: () => seen }
  }

  it('carry a frame a second, and what was missed', async () => {
    const { url, token, live } = await startAdmin()
    live.tick({ atMs: 1_000 })
    live.tick({ atMs: 2_000 })
    const response = await fetch(`${url}/admin/v1/live?since=1000`, {
      headers: { authorization: `Bearer ${token.viewer}` },
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = response.body?.getReader()
    let seen = ''
    const readUntil = async (part: string): Promise<void> => {
      while (!seen.includes(part)) seen += new TextDecoder().decode((await reader?.read())?.value)
    }
    await readUntil('id: 2000\n')
    live.tick({ atMs: 3_000, refused: 7 })
    await readUntil('"refused":7')
    expect([...seen.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual(['2000', '3000'])
    await reader?.cancel()
    await until('no one listens', () => live.followers === 0)
  })

  it('are bounded for a token and for all, and places are freed', async () => {
    const { url, token, live } = await startAdmin({ streamBounds: { most: 3, mostOfOne: 2 } })
    const open = [await watch(url, token.viewer), await watch(url, token.viewer)]
    expect((await watch(url, token.viewer)).status).toBe('HTTP/1.1 503 Service Unavailable')
    expect((await watch(url, token.admin)).status).toBe('HTTP/1.1 200 OK')
    expect((await watch(url, token.operator)).status).toBe('HTTP/1.1 503 Service Unavailable')
    expect(live.followers).toBe(1)
    open[0].socket.destroy()
    await until('a place is free', async () => {
      const next = await watch(url, token.operator)
      return next.status === 'HTTP/1.1 200 OK'
    })
  })

  it('drop a reader that does not read', async () => {
    const { url, token, live, server } = await startAdmin({ streamBounds: { maxWaitingBytes: 100_000 } })
    const { socket } = await watch(url, token.viewer)
    socket.pause()
    const fast = await watch(url, token.viewer)
    const rules = Array.from({ length: 100 }, (_, i) => ({
      domain: 'd'.repeat(200),
      id: `rule-${i}`,
      allowed: 1,
      refused: 0,
      shadowRefused: 0,
    }))
    const connections = (): Promise<number> =>
      new Promise((resolve) => void server.getConnections((_, count) => resolve(count)))
    let atMs = 10_000
    await until('the slow reader is gone', async () => {
      live.tick({ atMs: atMs++, rules })
      return (await connections()) === 1
    })
    await until('the other one reads on', () => fast.read().includes(`id: ${atMs - 1}\n`))
  })

  it('end after five minutes, so that a revoked token sees no more', async () => {
    const { url, token, live, clock } = await startAdmin()
    const { socket } = await watch(url, token.viewer)
    const closed = new Promise<void>((resolve) => void socket.once('end', resolve))
    live.tick()
    clock.ms += 300_000
    live.tick()
    await until('the stream has ended', () => live.followers === 0)
    socket.end()
    await closed
  })
})
