import { describe, expect, it } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { startApp, startGateway, startRoutes, statuses } from './gateway.suite.ts'

describe('sluice gateway --to', () => {
  it('leads to the app and limits addresses immediately', async () => {
    const app = await startApp((request, response) => response.end(`app: ${request.url}`))
    const { url } = await startGateway(['--to', app, '--limit', '2/1m'])
    const first = await fetch(`${url}/a?b`)
    expect([first.status, await first.text(), first.headers.get('x-ratelimit-remaining')]).toEqual([
      200,
      'app: /a?b',
      '1',
    ])
    expect(await statuses(2, () => fetch(url))).toEqual([200, 429])
    const refused = await fetch(url)
    expect(refused.headers.get('ratelimit')).toMatch(/^"all";r=0;t=\d+$/)
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await refused.json()).toMatchObject({ error: { code: 'RATE_LIMITED', limit: 2, window: '1m' } })
  })

  it.each<[readonly string[], string]>([
    [['--to', 'http://localhost:1'], 'ROUTE_UNLIMITED: --to: neither --limit 100/1m nor --no-limit is given'],
    [
      ['--to', 'http://localhost:1', '--limit', '5/m', '--no-limit'],
      'ROUTE_UNLIMITED: --limit: --limit and --no-limit are both given',
    ],
    [['--to', 'http://localhost:1', '--limit', '100'], 'RATE_INVALID: command line.limits[0]: got "100"'],
    [['--to', 'localhost:1', '--limit', '5/m'], 'ROUTES_INVALID: command line.upstreams.app[0]: got "localhost:1"'],
    [['--limit', '5/m'], 'UPSTREAM_REQUIRED: gateway: neither'],
    [['--to', 'http://a', '--routes', 'b.yaml'], 'UPSTREAM_REQUIRED: gateway: both are given'],
    [['--to', 'http://a', '--limits', '5/m'], 'FLAG_UNKNOWN: gateway: got "--limits", did you mean "--limit"?'],
    [['--routes', 'b.yaml', '--limit', '5/m'], 'FLAG_UNKNOWN: --limit: only valid with --to'],
    [['--to', 'http://a', '--limit', '5/m', '--tls-cert', 'a.pem'], 'TLS_INCOMPLETE: --tls-cert: --tls-key is missing'],
    [
      ['--to', 'http://a', '--limit', '5/m', '--trusted-proxies', 'all'],
      'PROXY_TRUST_INVALID: --trusted-proxies: got "all"',
    ],
  ])('with %j does not start', async (args, message) => {
    await expect(startGateway(args)).rejects.toThrow(message)
  })

  it('rejects a misspelled variable of the gateway', async () => {
    await expect(startGateway(['--to', 'http://a'], { SLUICE_GATEWAY_LIMITS: '5/m' })).rejects.toThrow(
      'VARIABLE_UNKNOWN: SLUICE_GATEWAY_LIMITS: not a setting of the gateway, did you mean "SLUICE_GATEWAY_LIMIT"?',
    )
  })

  it('believes the configured proxies about clients', async () => {
    const app = await startApp((_, response) => response.end())
    const { url } = await startGateway(['--to', app, '--limit', '1/1m', '--trusted-proxies', 'loopback'])
    const from = (ip: string) => () => fetch(url, { headers: { 'X-Forwarded-For': ip } })
    expect(await statuses(2, from('192.0.2.1'))).toEqual([200, 429])
    expect(await statuses(2, from('192.0.2.2'))).toEqual([200, 429])
  })

  it('counts what it decides, and shows it to operators', async () => {
    const app = await startApp((_, response) => response.end())
    const { url, admin } = await startGateway(['--to', app, '--limit', '1/1m'])
    await statuses(2, () => fetch(url))
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    expect(metrics).toMatch(/ratelimit_decisions_total\{[^}]*door="gateway"[^}]*\} 1/)
    expect(await (await fetch(`${admin}/stats`)).text()).toContain('sluice.gateway.requests: 0')
    expect(await (await fetch(`${admin}/rlconfig`)).text()).toContain('gateway')
  })
})

const ROUTES = `
upstreams: { app: APP }
routes:
  - name: login
    path: /login
    methods: [POST]
    limits: [2/1h]
  - name: user
    path: /users/{id}
    limits: [{ requests_per_unit: 1, unit: hour, by: { parameter: id } }]
  - name: all
    limits:
      - { name: each, requests_per_unit: 3, unit: hour, by: ip }
      - { name: together, requests_per_unit: 100, unit: hour, by: everyone }
`

describe('sluice gateway --routes', () => {
  it('limits each route separately', async () => {
    const { url } = await startRoutes(ROUTES, (_, response) => response.end())
    expect(await statuses(3, () => fetch(`${url}/login`, { method: 'POST' }))).toEqual([200, 200, 429])
    expect(await statuses(2, () => fetch(`${url}/users/7`))).toEqual([200, 429])
    expect(await statuses(1, () => fetch(`${url}/users/8`))).toEqual([200])
    const answer = await fetch(`${url}/other`)
    expect(answer.headers.get('ratelimit')).toMatch(/^"each";r=2;t=\d+, "together";r=99;t=\d+$/)
  })

  it('follows its file, and keeps what is good when a change is not', async () => {
    const { url, change, lines } = await startRoutes(ROUTES, (_, response) => response.end())
    expect(await statuses(2, () => fetch(`${url}/users/7`))).toEqual([200, 429])
    change(ROUTES.replace('limits: [2/1h]', 'limit: [2/1h]'))
    await until('the file is refused', () => lines.some((line) => line.includes('ROUTES_UNKNOWN_KEY')))
    expect(await statuses(3, () => fetch(`${url}/login`, { method: 'POST' }))).toEqual([200, 200, 429])
    change(ROUTES.replace('[2/1h]', '[5/1h]'))
    await until('the file is in force', () => lines.some((line) => line.includes('routes are in force')))
    expect(await statuses(2, () => fetch(`${url}/login`, { method: 'POST' }))).toEqual([200, 200])
  })

  it('asks the rules of a domain, and refuses one that there is not', async () => {
    const text =
      'upstreams: { app: APP }\nroutes: [{ domain: api, descriptors: [[method, { key: plan, header: x-plan }]] }]\n'
    await expect(startRoutes(text, (_, response) => response.end())).rejects.toThrow('no rules define the domain "api"')
    const { file } = (await import('./gateway.suite.ts')).routesFile(
      'domain: api\ndescriptors:\n  - key: method\n    value: GET\n    descriptors: [{ key: plan, rate_limit: { unit: hour, requests_per_unit: 1 } }]\n',
    )
    const { url } = await startRoutes(text, (_, response) => response.end(), ['--rules', file])
    const free = (method: string) => () => fetch(url, { method, headers: { 'X-Plan': 'free' } })
    expect(await statuses(2, free('GET'))).toEqual([200, 429])
    expect(await statuses(2, free('POST'))).toEqual([200, 200])
  })

  it('negotiates the form of a refusal', async () => {
    const { url } = await startRoutes('upstreams: { app: APP }\nlimits: [1/1h]\n', (_, response) => response.end())
    await fetch(url)
    const typeFor = async (accept: string): Promise<string | null> => {
      const response = await fetch(`${url}/<b>`, { headers: { accept } })
      expect(response.status).toBe(429)
      expect(await response.text()).not.toContain('<b>')
      return response.headers.get('content-type')
    }
    expect(await typeFor('text/html,application/xhtml+xml,*/*;q=0.8')).toBe('text/html; charset=utf-8')
    expect(await typeFor('*/*')).toBe('application/json')
    expect(await typeFor('application/problem+json')).toBe('application/problem+json')
    expect(await typeFor('text/plain, text/html;q=0.5')).toBe('text/plain; charset=utf-8')
  })

  it('holds a place from the start of a request to its real end', async () => {
    const waiting: (() => void)[] = []
    const text = 'upstreams: { app: APP }\nlimits: [{ algorithm: concurrency, requests_per_unit: 1 }]\n'
    const { url } = await startRoutes(text, ({ url: path }, response) => {
      if (path === '/fail') response.destroy()
      else if (path === '/slow') waiting.push(() => response.end())
      else response.end()
    })
    const first = fetch(`${url}/slow`)
    await until('it is at the app', () => waiting.length === 1)
    const refused = await fetch(url)
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining('Too many concurrent requests'),
    ])
    waiting[0]?.()
    expect((await first).status).toBe(200)
    expect(await statuses(1, () => fetch(url))).toEqual([200])
    const gone = new AbortController()
    const left = fetch(`${url}/slow`, { signal: gone.signal }).catch(() => 'left')
    await until('it is at the app', () => waiting.length === 2)
    gone.abort()
    expect(await left).toBe('left')
    await until('the place is free', async () => (await fetch(`${url}/`)).status === 200)
    expect(await statuses(2, () => fetch(`${url}/fail`, { method: 'POST' }))).toEqual([502, 502])
    expect(await statuses(1, () => fetch(url))).toEqual([200])
  })
})
