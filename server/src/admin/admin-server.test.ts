import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadRules } from 'sluice/internal/core/rules/load'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mergeInto } from '../observe/metrics/merge-reports.ts'
import { adminServer, type Stat } from './admin-server.ts'

const rules = loadRules([
  {
    file: 'shop.yaml',
    text: `
domain: shop
tiers:
  pro: {rate_limit: {unit: day, requests_per_unit: 900}}
descriptors:
  - key: remote_address
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: remote_address
    value: 198.51.100.7
    rate_limit: {unlimited: true}
  - key: api_key
    tiered: true
    rate_limit: {unit: day, requests_per_unit: 100}
  - key: path
    value: /cart*
    shadow_mode: true
    descriptors:
      - key: method
        value: a=b
        quota_mode: true
        rate_limits:
          - {window: 90s, requests_per_unit: 5, algorithm: token_bucket}
          - {unit: week, requests_per_unit: 50}
`,
  },
  { file: 'empty.yaml', text: 'domain: empty' },
])
const stats: Stat[] = [
  ['b.hits', 2],
  ['a.hits', 1],
]

let unready = ''
let degraded = ''
let server: Server
let url = ''
beforeAll(async () => {
  server = adminServer({
    rules: () => rules,
    stats: () => stats,
    metrics: () => {
      const metrics = new Map()
      mergeInto(metrics, { ratelimit_config_rules: { labels: [''], values: Float64Array.of(3) } }, '1')
      return metrics
    },
    health: async () => ({ unready, degraded }),
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

const get = async (path: string): Promise<string> => (await fetch(url + path)).text()

describe('adminServer', () => {
  it('lists the rules in force, a line for each limit', async () => {
    expect((await get('/rlconfig')).split('\n')).toEqual([
      'shop.remote_address_198.51.100.7: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false # unlimited',
      'shop.remote_address: unit=MINUTE requests_per_unit=20, shadow_mode: false, quota_mode: false # 20 per 1m, sliding_window',
      'shop.api_key: unit=DAY requests_per_unit=100, shadow_mode: false, quota_mode: false # 100 per 1d, sliding_window',
      'shop.api_key (tier pro): unit=DAY requests_per_unit=900, shadow_mode: false, quota_mode: false # 900 per 1d, sliding_window',
      'shop.path_/cart*.method_a=b: unit=UNKNOWN requests_per_unit=5, shadow_mode: false, quota_mode: true # 5 per 90s, token_bucket; quota mode',
      'shop.path_/cart*.method_a=b: unit=WEEK requests_per_unit=50, shadow_mode: false, quota_mode: true # 50 per 1w, sliding_window; quota mode',
      '',
    ])
  })

  it('lists what was counted, sorted, as lines or as JSON', async () => {
    expect(await get('/stats')).toBe('a.hits: 1\nb.hits: 2\n')
    const response = await fetch(`${url}/stats?format=json`)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.text()).toBe('{"a.hits":1,"b.hits":2}\n')
  })

  it('lists its paths', async () => {
    expect(await get('/')).toBe(
      '/livez: whether this process runs\n' +
        '/metrics: everything for Prometheus\n' +
        '/readyz: whether the node takes requests: 200, or 503 and why not\n' +
        '/rlconfig: the rules in force, a line for each limit\n' +
        '/stats: what was counted, as lines; ?format=json as JSON\n',
    )
  })

  it.each([
    [undefined, 'text/plain; version=0.0.4; charset=utf-8', 'ratelimit_config_rules 3\n'],
    ['application/openmetrics-text', 'application/openmetrics-text; version=1.0.0; charset=utf-8', '\n# EOF\n'],
  ])('gives Prometheus everything, in the form that it asks for (%s)', async (accept, type, part) => {
    const response = await fetch(`${url}/metrics`, { headers: { ...(accept && { accept }) } })
    expect([response.status, response.headers.get('content-type'), response.headers.get('vary')]).toEqual([
      200,
      type,
      'Accept',
    ])
    expect(await response.text()).toContain(part)
  })

  it('is alive, and ready unless there is a reason why not', async () => {
    expect(await get('/livez')).toBe('ok\n')
    expect(await get('/readyz')).toBe('ok\n')
    unready = 'workers are starting'
    const response = await fetch(`${url}/readyz`)
    expect([response.status, await response.text()]).toEqual([503, 'not ready: workers are starting\n'])
    unready = ''
    degraded = 'the records are missing'
    const without = await fetch(`${url}/readyz`)
    expect([without.status, await without.text()]).toEqual([200, 'degraded: the records are missing\n'])
    degraded = ''
  })

  it('takes nothing', async () => {
    const response = await fetch(`${url}/stats`, { method: 'POST', body: 'x' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await fetch(`${url}/nothing`)).status).toBe(404)
  })
})
