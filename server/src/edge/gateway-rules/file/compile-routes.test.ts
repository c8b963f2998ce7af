import { parseRules } from 'sluice/internal/core/rules/parse'
import type { RulesError } from 'sluice/internal/core/rules/problems'
import { describe, expect, it } from 'vitest'
import { compileRoutes, type GatewayPlan } from './compile-routes.ts'

function compile(text: string): GatewayPlan {
  return compileRoutes(parseRules('gw.yaml', text), 'gw.yaml')
}

function wrongWith(text: string): readonly string[] {
  try {
    compile(text)
    return []
  } catch (error) {
    return (error as RulesError).errors.map(({ code, where, detail }) => `${code} ${where} ${detail}`)
  }
}

const GOOD = `
upstreams:
  app: http://localhost:3000
routes:
  - path: /v1/*
    limits: [10/s, { requests_per_unit: 5, unit: minute, by: [{ header: X-Tenant }, ip] }]
`

describe('compileRoutes', () => {
  it('writes limits as rules of a separate domain', () => {
    const { rules, table } = compile(GOOD)
    expect(rules).toEqual([
      {
        file: 'gw.yaml',
        value: {
          domain: 'gateway',
          descriptors: [
            {
              key: 'route',
              value: '/v1/',
              descriptors: [
                {
                  key: 'limit',
                  value: '/v1/ 1',
                  descriptors: [{ key: 'ip', rate_limit: { requests_per_unit: 10, window: 1000, name: '/v1/ 1' } }],
                },
                {
                  key: 'limit',
                  value: '/v1/ 2',
                  descriptors: [
                    { key: 'header.x-tenant', secret: true, rate_limit: expect.objectContaining({ unit: 'minute' }) },
                    { key: 'ip', rate_limit: expect.objectContaining({ unit: 'minute' }) },
                  ],
                },
              ],
            },
          ],
        },
      },
    ])
    expect(table.routes).toMatchObject([{ name: '/v1/', path: '/v1/*', upstream: 'app', cost: 1, priority: undefined }])
    expect(table.routes[0]).not.toHaveProperty('peekBytes')
  })

  it('looks into bodies where a limit asks for a part of them', () => {
    expect(compile(GOOD.replace('{ header: X-Tenant }', '{ json: a.b }')).table.routes[0]?.peekBytes).toBe(16_384)
  })

  it('takes no more of a body than it looks into, unless the route says otherwise', () => {
    const json = GOOD.replace('{ header: X-Tenant }', '{ json: a.b }')
    const bounds = (route: string) => {
      const { table, warnings } = compile(json.replace('path: /v1/*', `path: /v1/*\n${route}`))
      return [table.routes[0]?.peekBytes, table.routes[0]?.maxBodyBytes, ...warnings]
    }
    expect(bounds('')).toEqual([16_384, 16_384])
    expect(bounds('    peek: 60000')).toEqual([60_000, 60_000])
    expect(bounds('    max_body: 5000')).toEqual([16_384, 5_000])
    expect(bounds('    max_body: 20000')).toEqual([
      16_384,
      20_000,
      'route "/v1/" looks into the first 16384 bytes of bodies of up to 20000: what stands further behind is counted by address; raise peek, or lower max_body',
    ])
    expect(compile(GOOD).table.routes[0]).not.toHaveProperty('maxBodyBytes')
  })

  it('warns of a route where nothing is counted before the body is there', () => {
    const limit = 'requests_per_unit: 5, unit: hour, by: { json: a }'
    const text = (more: string) => `upstreams: { a: http://a:1 }\nlimits: [{ name: a, ${limit} }${more}]\n`
    expect(compile(text('')).warnings).toEqual([
      'route "/" has no limit that counts a request before its body is there: add one by ip',
    ])
    expect(compile(text(', 10/s')).warnings).toEqual([])
  })

  it('has a limit wait for the body where one that does replaces it', () => {
    const text = `
upstreams: { a: http://a:1 }
limits:
  - { name: plain, requests_per_unit: 5, unit: hour }
  - { name: replaced, requests_per_unit: 5, unit: hour, replaces: [{ name: below }] }
  - { name: below, requests_per_unit: 5, unit: hour }
  - { name: of the body, requests_per_unit: 5, unit: hour, by: { form: a }, replaces: [{ name: replaced }] }
  - { name: reserved, requests_per_unit: 5, unit: hour, reserve: { json: a }, settle: { json: b } }
  - { name: fixed, requests_per_unit: 5, unit: hour, reserve: 3, settle: { json: b } }
`
    const { limits = [] } = compile(text).table.routes[0] ?? {}
    expect(limits.map(({ readsBody }) => readsBody)).toEqual([false, true, true, true, true, false])
  })

  it('writes one level for each part of a combination, and owners that begin alike share levels', () => {
    const by = '[{ all: [{ json: email }, ip] }, { all: [{ json: email }, { header: X-A }] }, { json: email }]'
    const { rules } = compile(
      `upstreams: { a: http://a:1 }\nlimits: [{ name: n, requests_per_unit: 5, window: 1h, by: ${by} }]\n`,
    )
    const rate_limit = { name: 'n', requests_per_unit: 5, window: '1h' }
    expect(rules[0]?.value).toEqual({
      domain: 'gateway',
      descriptors: [
        {
          key: 'limit',
          value: 'n',
          descriptors: [
            {
              key: 'json.email',
              secret: true,
              rate_limit,
              descriptors: [
                { key: 'ip', rate_limit },
                { key: 'header.x-a', secret: true, rate_limit },
              ],
            },
            { key: 'ip', rate_limit },
          ],
        },
      ],
    })
  })

  it.each([
    ['{ all: [ip, everyone] }', '"everyone" is no part of a combination'],
    ['{ all: [ip, ip] }', 'all names a part twice'],
    ['{ all: [ip, user] }', 'by: "user" needs identity.jwt'],
    ['{ all: [ip, { json: a }], header: b }', 'all stands alone'],
    ['{ all: [ip] }', 'too small'],
  ])('refuses a combination of by: %s', (by, expected) => {
    const text = `upstreams: { a: http://a:1 }\nlimits: [{ requests_per_unit: 5, window: 1h, by: ${by} }]\n`
    expect(wrongWith(text).join('\n')).toContain(expected)
  })

  it('keeps adaptive concurrency between what the file says', () => {
    const adaptive = (form: string) =>
      compile(`upstreams: { a: { addresses: [http://a:1], ${form} } }\nlimits: [1/s]\n`).table.upstreams.a?.adaptive
    expect(adaptive('concurrency: adaptive')).toEqual({ min: 4, max: 256 })
    expect(adaptive('concurrency: adaptive, max_connections: 3')).toEqual({ min: 3, max: 3 })
    expect(adaptive('concurrency: { min: 300 }')).toEqual({ min: 300, max: 300 })
    expect(adaptive('concurrency: { max: 10 }')).toEqual({ min: 4, max: 10 })
    expect(adaptive('concurrency: 7')).toEqual({ min: 7, max: 7 })
    expect(adaptive('http2: false')).toEqual({ min: 4, max: 256, startsOpen: true })
    expect(adaptive('max_connections: 9')).toEqual({ min: 4, max: 9, startsOpen: true })
    expect(adaptive('concurrency: off')).toBeUndefined()
  })

  it('leads everything to the only upstream where nothing else is said', () => {
    expect(compile('upstreams: { a: [http://a:1, http://b:1] }\nlimits: [1/s]\n').table.routes).toMatchObject([
      { name: '/', path: '/*', upstream: 'a' },
    ])
  })

  it('reads paths as the route says, or else its file', () => {
    const text = `
upstreams: { a: http://a:1 }
unlimited: true
case_sensitive: true
encoded_slashes: keep
routes: [{ name: file, path: /a }, { name: own, path: /b, case_sensitive: false, encoded_slashes: refuse, forward_path: as_sent }]
`
    const { table, warnings } = compile(text)
    expect(table.routes).toMatchObject([
      { name: 'file', caseSensitive: true, encodedSlashes: 'keep' },
      { name: 'own', caseSensitive: false, encodedSlashes: 'refuse', forwardPath: 'as_sent' },
    ])
    expect(warnings).toEqual([expect.stringMatching(/^forward_path: as_sent \("own"\): /)])
    expect(compile(text.replaceAll('as_sent', 'canonical')).warnings).toEqual([])
    expect(wrongWith(text.replaceAll('keep', 'yes'))[0]).toContain('ROUTES_INVALID')
  })

  it('warns of a route that is limited by what callers choose', () => {
    const text = 'upstreams: { a: http://a:1 }\nidentity: { api_key: true }\nlimits: [1/s]\n'
    expect(compile(text).warnings).toEqual([
      'route "/" is limited by API key alone, and keys are believed: add a limit by ip',
    ])
  })

  it('hands on which believed fields clients may send, and refuses names that are removed from no one', () => {
    const text = (names: string): string => `upstreams: { a: http://a:1 }\nlimits: [1/s]\npass_headers: [${names}]\n`
    expect(compile(text('X-HTTP-Method-Override, x-original-url')).table.passHeaders).toEqual([
      'X-HTTP-Method-Override',
      'x-original-url',
    ])
    for (const name of ['X-Mine', 'Host', 'X-Forwarded-For', 'Forwarded', 'X_Client_IP', 'Transfer-Encoding']) {
      expect(() => compile(text(name))).toThrow(`"${name}" is not a field that is removed from clients`)
    }
  })

  it.each([
    ['x-priority', '', 'from, or trusted_proxies by address'],
    ['x-priority', 'trusted_proxies: 1', 'from, or trusted_proxies by address'],
    ['{ name: x-priority, from: proxies }', '', 'trusted_proxies'],
    ['{ name: x-priority, from: proxies }', 'trusted_proxies: 0', 'trusted_proxies'],
    ['x-priority', 'trusted_proxies: [10.0.0.0/8]', undefined],
    ['{ name: x-priority, from: proxies }', 'trusted_proxies: 1', undefined],
    ['{ name: x-priority, from: [10.0.0.0/8] }', '', undefined],
  ])('warns where no caller is trusted by priority_header: %s, %s', (header, trusted, needed) => {
    const text = `upstreams: { a: http://a:1 }\nlimits: [1/s]\npriority_header: ${header}\n${trusted}\n`
    const warning = `priority_header: no caller is trusted; set ${needed} (or --trusted-proxies)`
    expect(compile(text).warnings).toEqual(needed === undefined ? [] : [warning])
  })

  it.each<[change: string, to: string, expected: string]>([
    ['limits: [', 'limit: [', 'ROUTES_UNKNOWN_KEY gw.yaml:6:5 "limit", did you mean "limits"?'],
    ['unit: minute', 'unit: minutes', 'RULES'],
    [
      'requests_per_unit: 5',
      'request_per_unit: 5',
      'ROUTES_UNKNOWN_KEY gw.yaml:6:22 "request_per_unit", did you mean "requests_per_unit"?',
    ],
    ['unit: minute', 'unit: minute, burst: 3', 'RULES'],
    ['10/s', '10', 'RULES'],
    ['10/s', 'ten', 'RATE_INVALID gw.yaml:6:14 got "ten"'],
    ['/v1/*', 'v1', 'ROUTES_INVALID gw.yaml:5:5 got "v1", and a path is / and segments'],
    ['by: [{ header: X-Tenant }, ip]', 'by: user', 'ROUTES_INVALID gw.yaml:6:62 by: "user" needs identity.jwt'],
    ['by: [{ header: X-Tenant }, ip]', 'by: {}', 'ROUTES_INVALID gw.yaml:6:62 it names one of header'],
    ['http://localhost:3000', 'localhost', 'ROUTES_INVALID gw.yaml:3:8 got "localhost", expected http://host:port'],
    [
      '    limits: [10/s, { requests_per_unit: 5, unit: minute, by: [{ header: X-Tenant }, ip] }]\n',
      '',
      'ROUTE_UNLIMITED gw.yaml:5:5 the route has no limit',
    ],
    ['path: /v1/*', 'upstream: apq', 'ROUTES_INVALID gw.yaml:5:15 upstream: got "apq", did you mean "app"?'],
    [
      'by: [',
      'queue: 3, algorithm: gcra, by: [',
      'ROUTES_INVALID gw.yaml:6:65 queue cannot be combined with algorithm gcra',
    ],
    ['by: [', 'reserve: 3, by: [', 'ROUTES_INVALID gw.yaml:6:67 reserve without settle'],
    [
      'by: [',
      'escalate: { block_after: 3 }, by: [',
      'ROUTES_INVALID gw.yaml:6:68 block_after and block_for need each other',
    ],
    [
      'app: http://localhost:3000',
      'app: { addresses: [http://a:1], concurrency: { min: 9, max: 3 } }',
      'ROUTES_INVALID gw.yaml:3:55 min: got 9, and max is 3',
    ],
    [
      'app: http://localhost:3000',
      'app: { addresses: [http://a:1], concurrency: fixed }',
      'ROUTES_INVALID gw.yaml:3:48 concurrency: got "fixed" (expected adaptive, off, a number, or {min: NUMBER, max: NUMBER})',
    ],
    [
      'upstreams:',
      'priority_header: { name: x, from: [everywhere] }\nupstreams:',
      'PROXY_TRUST_INVALID gw.yaml:2:35 got "everywhere"',
    ],
    ['upstreams:', 'priority_header: a b\nupstreams:', 'gw.yaml:2:18 '],
  ])('says what is wrong when %s becomes %s', (change, to, expected) => {
    const found = wrongWith(GOOD.replace(change, to))
    expect(found.length).toBeGreaterThan(0)
    if (expected === 'RULES') expect(found[0]).toMatch(/^(RULE|ROUTES|RATE|OPTION)_\w+ gw\.yaml:6:\d+ /)
    else expect(found[0]).toContain(expected)
  })

  const FULL = `
upstreams:
  app:
    addresses: [http://localhost:3000]
    health: { path: /healthz, every: 10s }
    concurrency: { min: 4, max: 100 }
identity:
  api_key: { header: x-key }
  jwt: { secret_env: SECRET }
  claims: { user: sub }
priority_header: { name: x-priority, from: proxies }
ceiling: { requests: 10/1s }
queue: { requests: 10 }
routes:
  - path: /v1/*
    domain: api
    descriptors: [[ip, { key: tenant, header: x-tenant }]]
    times: { connect: 1s }
    limits:
      - requests_per_unit: 5
        unit: minute
        by: { header: x-tenant }
        reserve: { json: max_tokens, default: 3 }
        settle: { json: usage.total_tokens }
        escalate: { delay: 1s, block_after: 3, block_for: 1m }
`

  it.each<[right: string, wrong: string]>([
    ['addresses', 'adresses'],
    ['health', 'heath'],
    ['path', 'pth'],
    ['every', 'evry'],
    ['concurrency', 'concurency'],
    ['max', 'mx'],
    ['header: x-key', 'heder: x-key'],
    ['secret_env', 'secret_evn'],
    ['user', 'usr'],
    ['name', 'nme'],
    ['from', 'form'],
    ['requests', 'request'],
    ['key: tenant', 'ky: tenant'],
    ['header: x-tenant }]]', 'heder: x-tenant }]]'],
    ['connect', 'conect'],
    ['header: x-tenant }\n', 'heder: x-tenant }\n'],
    ['json: max_tokens', 'jsn: max_tokens'],
    ['default', 'defalt'],
    ['settle', 'setle'],
    ['json: usage', 'jsn: usage'],
    ['delay', 'dely'],
    ['block_after', 'block_afer'],
  ])('names a wrong key wherever it stands, and the right one: %s, %s', (right, wrong) => {
    const at = FULL.indexOf(right)
    const line = FULL.slice(0, at).split('\n')
    const key = (text: string) => text.split(':')[0]
    const text = FULL.slice(0, at) + wrong + FULL.slice(at + right.length)
    const place = `gw.yaml:${line.length}:${(line.at(-1) as string).length + 1}`
    expect(wrongWith(text)).toContain(`ROUTES_UNKNOWN_KEY ${place} "${key(wrong)}", did you mean "${key(right)}"?`)
  })

  it.each<[change: string, to: string, expected: string]>([
    [
      '[http://localhost:3000]',
      '[3000]',
      'gw.yaml:4:17 addresses: got 3000 (invalid input: expected string, received number)',
    ],
    ['path: /healthz, ', '', 'gw.yaml:5:13 path is missing'],
    ['min: 4', 'min: four', 'gw.yaml:6:25 min: got "four" (invalid input: expected number, received string)'],
    [
      'from: proxies',
      'from: everybody',
      'gw.yaml:11:44 from: got "everybody" (expected proxies, or a list of networks)',
    ],
    [
      'default: 3',
      'default: three',
      'gw.yaml:23:47 default: got "three" (invalid input: expected number, received string)',
    ],
  ])('says where in an object a value is wrong when %s becomes %s', (change, to, expected) => {
    expect(wrongWith(FULL.replace(change, to))).toEqual([`ROUTES_INVALID ${expected}`])
  })

  it('says of a limit that is wrong what is wrong with it, and nothing else', () => {
    const wrong = ['RATE_INVALID gw.yaml:2:10 got "100"']
    expect(wrongWith('upstreams: { a: http://a:1 }\nlimits: ["100"]\n')).toEqual(wrong)
  })

  it('refuses two limits of one name, and two routes', () => {
    const two = GOOD.replace('[10/s, {', '[{ name: x, requests_per_unit: 1, unit: day }, { name: x,')
    expect(wrongWith(two)[0]).toContain('"x" is taken by another limit of this list')
    expect(wrongWith(`${GOOD}  - { path: /v1/*, limits: [1/s] }\n`)[0]).toContain(
      'the name "/v1/" is taken by routes[0]',
    )
  })
})
