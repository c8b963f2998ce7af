import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { readGatewayConfig } from '../settings/gateway-settings.ts'
import { describeRoutes } from './describe-routes.ts'
import { startApp, startGateway, startRoutes, statuses } from './gateway.suite.ts'
import { readRoutes } from './read-routes.ts'

const json = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  })

describe('a cost that is known afterwards', () => {
  const TOKENS = `
upstreams: { app: APP }
limits:
  - name: tokens
    algorithm: fixed_window
    requests_per_unit: 1000
    calendar: { unit: year }
    reserve: { json: max_tokens, default: 0, max: 900 }
    settle: { header: x-cost, json: usage.total_tokens, sse: usage.total_tokens }
`
  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    '/header': (response) => response.writeHead(200, { 'X-Cost': '12.2' }).end(),
    '/json': (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.write('{"text": "\\"usage\\": {\\"total_tokens\\": 1}", "usage": {"total_')
      response.end('tokens": 40}}')
    },
    '/sse': (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('data: {"usage": {"total_tokens": 7}}\n\nda')
      response.end('ta: {"usage": {"total_tokens": 70}}\r\n\r\ndata: {"usage": null}\n\ndata: [DONE]\n\n')
    },
    '/none': (response) => response.end('nothing to see'),
    '/failed': (response) => response.writeHead(500).end('{"error": "the model failed"}'),
    '/busy': (response) => response.writeHead(503).end(),
    '/failed-dear': (response) => response.writeHead(500, { 'X-Cost': '30' }).end(),
    '/untold': (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.end(': a comment\n\n'.repeat(50) + 'data: {"token": "a"}\n\n'.repeat(150))
    },
    '/gone': (response) => response.destroy(),
    '/free': (response) => response.writeHead(200, { 'X-Cost': '0' }).end(),
    '/dear': (response) => response.writeHead(200, { 'X-Cost': '1500' }).end(),
  }
  const app = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume()
    answers[request.url ?? '']?.(response)
  }

  const EXPECTED: readonly [path: string, spent: number][] = [
    ['/header', 13],
    ['/json', 40],
    ['/sse', 70],
    ['/none', 100],
    ['/gone', 0],
    ['/failed', 0],
    ['/busy', 0],
    ['/failed-dear', 30],
    ['/untold', 150],
    ['/dear', 1000],
  ]

  it('is settled from a field, from JSON and from the last event that has it', async () => {
    const { url } = await startRoutes(TOKENS.replace('reserve:', 'by: { header: x-user }\n    reserve:'), app)
    const spent: [path: string, spent: number][] = []
    for (const [path] of EXPECTED) {
      const headers = { 'X-User': path }
      await (await json(`${url}${path}`, { max_tokens: 100 }, headers)).arrayBuffer()
      const look = await fetch(`${url}/free`, { headers })
      await look.arrayBuffer()
      spent.push([path, 1000 - Number(look.headers.get('x-ratelimit-remaining'))])
    }
    expect(spent).toEqual(EXPECTED)
  })

  it('is reserved before, and not above the limit', async () => {
    const { url } = await startRoutes(TOKENS, app)
    expect(await statuses(2, () => json(`${url}/none`, { max_tokens: 5_000 }))).toEqual([200, 429])
  })

  it('is reserved at a hundredth of the limit at least, whatever the request says', async () => {
    const { url } = await startRoutes(TOKENS, app)
    expect(await statuses(101, () => json(`${url}/none`, { max_tokens: 0 }))).toEqual([...Array(100).fill(200), 429])
  })

  it.each([
    ['min: 250', { max_tokens: 1 }, 4],
    ['min: 250', {}, 4],
    ['default: 4', { max_tokens: 1 }, 250],
    ['default: 200', {}, 5],
    ['default: 200', { max_tokens: 1 }, 100],
    ['min: 1', { max_tokens: 500 }, 2],
    ['max: 5', { max_tokens: 1 }, 200],
  ])('is reserved as %s says, for %o', async (form, body, most) => {
    const { url } = await startRoutes(TOKENS.replace('default: 0, max: 900', form), app)
    const found = await statuses(most + 1, () => json(`${url}/none`, body))
    expect([found.slice(0, -1).every((status) => status === 200), found.at(-1)]).toEqual([true, 429])
  })

  it('is what was streamed where the client leaves before the end', async () => {
    const { url } = await startRoutes(
      TOKENS.replace('reserve:', 'by: { header: x-user }\n    reserve:'),
      (request, response) => {
        if (request.url === '/free') return void answers['/free']?.(response)
        response.writeHead(200, { 'Content-Type': 'text/event-stream' })
        response.write('data: {"token": "a"}\n\n'.repeat(400))
      },
    )
    const gone = new AbortController()
    const answer = await fetch(`${url}/stream`, {
      method: 'POST',
      body: '{"max_tokens": 1}',
      signal: gone.signal,
      headers: { 'X-User': 'a' },
    })
    const reader = answer.body?.getReader()
    let bytes = 0
    while (bytes < 400 * 22) bytes += (await reader?.read())?.value?.length ?? 0
    gone.abort()
    await until('it is charged', async () => {
      const look = await fetch(`${url}/free`, { headers: { 'X-User': 'a' } })
      await look.arrayBuffer()
      return 1000 - Number(look.headers.get('x-ratelimit-remaining')) === 400
    })
  })

  it('carries a debt over', async () => {
    const { url } = await startRoutes(TOKENS, app)
    expect(await statuses(1, () => json(`${url}/dear`, { max_tokens: 1 }))).toEqual([200])
    expect(await statuses(1, () => json(`${url}/none`, { max_tokens: 1 }))).toEqual([429])
  })
})

describe('login protection', () => {
  const LOGIN = `
upstreams: { app: APP }
routes:
  - name: login
    path: /login
    methods: [POST]
    limits:
      - { name: account, requests_per_unit: 3, unit: hour, by: { json: email }, on_status: [401, 403] }
      - { name: address, requests_per_unit: 6, unit: hour, by: ip, on_status: [4xx] }
      - { name: network, requests_per_unit: 50, unit: hour, by: subnet, on_status: [4xx] }
`
  const app = (request: IncomingMessage, response: ServerResponse): void => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => response.writeHead(body.includes('"right"') ? 200 : 401).end())
  }
  const login = (url: string, email: unknown, password: string) => () => json(`${url}/login`, { email, password })

  it('counts failures of an account, of an address and of a network', async () => {
    const { url } = await startRoutes(LOGIN, app)
    expect(await statuses(4, login(url, 'a@b.c', 'wrong'))).toEqual([401, 401, 401, 429])
    expect(await statuses(1, login(url, ' A@B.C', 'right'))).toEqual([429])
    expect(await statuses(4, login(url, 'd@e.f', 'wrong'))).toEqual([401, 401, 401, 429])
    expect(await statuses(1, login(url, 'g@h.i', 'right'))).toEqual([429])
  })

  it('does not lock the owner of an account out where failures count by account and address together', async () => {
    const limit =
      '{ name: here, requests_per_unit: 3, unit: hour, by: { all: [{ json: email }, ip] }, on_status: [401] }'
    const text = `upstreams: { app: APP }\nroutes: [{ path: /login, limits: [${limit}] }]\ntrusted_proxies: [loopback]\n`
    const { url } = await startRoutes(text, app)
    const from = (ip: string, email: unknown, password: string) => () =>
      json(`${url}/login`, { email, password }, { 'X-Forwarded-For': ip })
    expect(await statuses(4, from('192.0.2.1', 'a@b.c', 'wrong'))).toEqual([401, 401, 401, 429])
    expect(await statuses(1, from('192.0.2.1', 'a@b.c', 'right'))).toEqual([429])
    expect(await statuses(1, from('192.0.2.2', 'a@b.c', 'right'))).toEqual([200])
    expect(await statuses(1, from('192.0.2.1', 'd@e.f', 'wrong'))).toEqual([401])
    // Without an account there is no combination: the address counts.
    expect(await statuses(4, from('192.0.2.3', undefined, 'wrong'))).toEqual([401, 401, 401, 429])
    expect(await statuses(1, from('192.0.2.3', 'a@b.c', 'wrong'))).toEqual([401])
  })

  it('takes nothing for what succeeds', async () => {
    const { url } = await startRoutes(LOGIN, app)
    expect(new Set(await statuses(12, login(url, 'a@b.c', 'right')))).toEqual(new Set([200]))
  })
})

describe('callers that do not stop', () => {
  it('are held back, refused, and then blocked', async () => {
    const text = `
upstreams: { app: APP }
limits:
  - name: bots
    requests_per_unit: 4
    unit: hour
    escalate: { delay: 5ms, delay_from: 0.5, block_after: 2, block_for: 1h }
`
    const { url, service } = await startRoutes(text, (_, response) => response.end())
    expect(await statuses(7, () => fetch(url))).toEqual([200, 200, 200, 200, 429, 429, 429])
    const blocked = await fetch(url)
    expect([blocked.status, blocked.headers.get('ratelimit')]).toEqual([
      429,
      expect.stringContaining('"bots block";r=0'),
    ])
    expect(service.rules().ruleCount).toBe(3)
  })
})

describe('a ceiling', () => {
  it('refuses before anything else is asked: 429 to an address, 503 to everybody', async () => {
    const text = 'upstreams: { app: APP }\nunlimited: true\nceiling: { requests: 3/1h, per_ip: 2/1h }\n'
    const { url } = await startRoutes(text, (_, response) => response.end(), ['--trusted-proxies', 'loopback'])
    const from = (ip: string) => () => fetch(url, { headers: { 'X-Forwarded-For': ip } })
    expect(await statuses(3, from('192.0.2.1'))).toEqual([200, 200, 429])
    expect(await statuses(2, from('192.0.2.2'))).toEqual([200, 503])
    const refused = await from('192.0.2.3')()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    expect(await refused.text()).toContain('This server takes 3/1h')
  })

  it('shows what it refuses: in the answer, in metrics, and in one line of the log', async () => {
    const text = 'upstreams: { app: APP }\nlimits: [1000/1h]\nceiling: { requests: 5/1h, per_ip: 2/1h }\n'
    const args = ['--trusted-proxies', 'loopback']
    const { url, admin, lines } = await startRoutes(text, (_, response) => response.end(), args)
    const from = (ip: string) => fetch(url, { headers: { 'X-Forwarded-For': ip } })
    const scopes: (string | null)[] = []
    for (const ip of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']) {
      const response = await from(ip)
      await response.arrayBuffer()
      scopes.push(response.headers.get('sluice-ceiling'))
    }
    expect(scopes).toEqual([null, null, 'per_ip', 'per_ip', null, null, null])
    await (await from('192.0.2.5')).arrayBuffer()
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    expect(metrics).toContain('ratelimit_ceiling_refused_total{scope="per_ip",mode="on"} 2\n')
    expect(metrics).toContain('ratelimit_ceiling_refused_total{scope="requests",mode="on"} 1\n')
    const told = lines.filter((line) => line.includes('gateway.ceiling'))
    expect(told).toEqual([
      expect.stringMatching(/^warn gateway.ceiling: .* refused 1 request: 192.0.2.1 sends more than 2\/1h; .*trusted_/),
    ])
  })

  it('is counted and refuses nothing in shadow mode', async () => {
    const text = 'upstreams: { app: APP }\nunlimited: true\nceiling: { requests: 1/1h }\n'
    const { url, admin } = await startRoutes(text, (_, response) => response.end(), ['--shadow-mode'])
    expect(await statuses(3, () => fetch(url))).toEqual([200, 200, 200])
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    expect(metrics).toContain('ratelimit_ceiling_refused_total{scope="requests",mode="shadow"} 2\n')
  })

  it('is given by flags with --to, and is on without them', async () => {
    const app = await startApp((_, response) => response.end())
    const given = await startGateway(['--to', app, '--limit', '9/1h', '--ceiling', '3/1h', '--ceiling-per-ip', '2/1h'])
    expect(await statuses(3, () => fetch(given.url))).toEqual([200, 200, 429])
    const off = await startGateway(['--to', app, '--limit', '9/1h', '--ceiling', '3/1h', '--ceiling-per-ip', 'off'])
    expect(await statuses(4, () => fetch(off.url))).toEqual([200, 200, 200, 503])
    expect(
      describeRoutes(readRoutes({ file: '--to', value: { upstreams: { app: [app] }, limits: ['9/1h'] } })),
    ).toContain('ceiling of each process: 50000/1s of all clients, 10000/1s of one address')
    expect(() => readGatewayConfig(['--to', app, '--no-limit', '--ceiling', '3'], {})).toThrow(
      /^RATE_INVALID: --ceiling/,
    )
    expect(() => readGatewayConfig(['--routes', 'x', '--ceiling', '3/1s'], {})).toThrow(/^FLAG_UNKNOWN: --ceiling/)
  })
})

describe('the concurrency of --to', () => {
  it.each([
    [undefined, { min: 4, max: 256, startsOpen: true }],
    ['adaptive', { min: 4, max: 256 }],
    ['7', { min: 7, max: 7 }],
    ['off', undefined],
  ])('%s', (given, expected) => {
    const flags = given === undefined ? [] : ['--concurrency', given]
    const { value } = readGatewayConfig(['--to', 'http://localhost:1', '--no-limit', ...flags], {}).gateway
    const plan = readRoutes({ file: '--to', value: value as object })
    expect(plan.table.upstreams.app?.adaptive).toEqual(expected)
  })

  it('is no other word, and no part of a routes file', () => {
    const read = (...args: string[]) => readGatewayConfig(args, {})
    expect(() => read('--to', 'http://a:1', '--no-limit', '--concurrency', '0')).toThrow(/--concurrency: got "?0/)
    expect(() => read('--routes', 'x', '--concurrency', 'off')).toThrow(/^FLAG_UNKNOWN: --concurrency/)
  })
})

describe('a ceiling of a route that reads bodies', () => {
  it('refuses before anything of a body has come', async () => {
    const text = `
upstreams: { app: APP }
ceiling: { per_ip: 1/1h }
limits: [{ requests_per_unit: 100, unit: hour, by: { json: email } }]
`
    const { url } = await startRoutes(text, (request, response) => request.resume().on('end', () => response.end()))
    expect((await json(url, { email: 'a@b.c' })).status).toBe(200)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1.1 429 /)
  })
})

describe('a fleet that is full', () => {
  it('gets 503 for what matters least, and serves what is critical', async () => {
    const text = `
upstreams: { app: APP }
limits: [1000/1h]
routes:
  - { path: /pay, priority: critical }
  - { path: /test, priority: 3 }
  - { path: /* }
`
    const args = ['--shed-capacity', '2', '--shed-reserved', '0.5']
    const { url } = await startRoutes(text, (_, response) => response.end(), args)
    // One a second of them is served: however slow the machine is, some of so many come together.
    const sent = await Promise.all(Array.from({ length: 30 }, () => fetch(`${url}/test`)))
    const shed = sent.find(({ status }) => status === 503) as Response
    expect([shed.headers.get('sluice-shed'), await shed.json()]).toMatchObject([
      'fleet',
      { error: { code: 'LOAD_SHED' } },
    ])
    expect(await statuses(4, () => fetch(`${url}/pay`, { method: 'POST' }))).toEqual([200, 200, 200, 200])
  })
})

describe('a queue', () => {
  const text = (window: string, queue: string) => `
upstreams: { app: APP }
limits: [{ requests_per_unit: 1, window: ${window}, queue: 3 }]
queue: ${queue}
`
  it('of 3 holds 3 behind the one that goes immediately, and refuses what is more', async () => {
    const { url } = await startRoutes(text('1h', '{ longest: 24h }'), (_, response) => response.end())
    expect((await fetch(url)).status).toBe(200)
    const leaving = new AbortController()
    let refused = 0
    const held = Array.from({ length: 12 }, async () => {
      const { status } = await fetch(url, { signal: leaving.signal })
      expect(status).toBe(429)
      refused++
    })
    await until('all but three are refused', () => refused === 9)
    leaving.abort()
    expect((await Promise.allSettled(held)).filter(({ status }) => status === 'rejected')).toHaveLength(3)
  })

  it('has requests go when it is their turn', async () => {
    const { url } = await startRoutes(text('100ms', '{}'), (_, response) => response.end())
    const all = await Promise.all(Array.from({ length: 4 }, () => fetch(url)))
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  it('is bounded: a request that finds no room is refused', async () => {
    const { url, lines } = await startRoutes(text('1h', '{ requests: 0 }'), (_, response) => response.end())
    expect(await statuses(3, () => fetch(url))).toEqual([200, 429, 429])
    expect(lines).toContainEqual(expect.stringMatching(/^warn routes.warning: .*of a queue of 3, 0 can wait: raise/))
  })
})
