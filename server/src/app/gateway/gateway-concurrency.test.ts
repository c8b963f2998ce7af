import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { until } from '../../../../tests/servers/until.mjs'
import { startRoutes } from './gateway.suite.ts'

const ROUTES = `
upstreams: { app: { addresses: [APP], concurrency: { min: 2, max: 2 } } }
routes:
  - { name: pay, path: /pay, priority: critical, limits: [100/1h] }
  - { name: all, limits: [100/1h] }
`

/** An app whose requests wait until they are let go. */
function holding() {
  const held: ServerResponse[] = []
  const listener = (_: IncomingMessage, response: ServerResponse): void => void held.push(response)
  const go = (count = held.length): void => {
    for (const response of held.splice(0, count)) response.end('done')
  }
  return { held, listener, go }
}

describe('a gateway before an upstream with adaptive concurrency', () => {
  it('sheds what the upstream has no room for, by priority, and charges nothing for it', async () => {
    const { held, listener, go } = holding()
    const { url, admin } = await startRoutes(ROUTES, listener)
    const first = fetch(`${url}/pay`)
    const second = fetch(`${url}/pay`)
    await until('both are at the app', () => held.length === 2)
    // The first of them waits for a moment, as in a burst.
    const late = await fetch(`${url}/a`)
    expect([late.status, late.headers.get('sluice-shed'), late.headers.get('retry-after')]).toEqual([
      503,
      'upstream',
      '1',
    ])
    expect(await late.json()).toMatchObject({ code: 'GATEWAY_OVERLOADED' })
    // For a second after that, they are refused at once.
    const shed = await until('one is refused immediately', async () => {
      const response = await fetch(`${url}/a`)
      const { error } = (await response.json()) as { error?: { code: string } }
      return error?.code === 'LOAD_SHED' && response
    })
    expect([shed.status, shed.headers.get('sluice-shed'), shed.headers.get('ratelimit')]).toEqual([
      503,
      'upstream',
      null,
    ])
    expect(Number(shed.headers.get('retry-after'))).toBeGreaterThanOrEqual(2)
    const metrics = async (): Promise<string> => (await fetch(`${admin}/metrics`)).text()
    expect(await metrics()).toMatch(/^ratelimit_upstream_limit\{.*upstream="app",address="http:.*\} 2$/m)
    expect(await metrics()).toMatch(/^ratelimit_upstream_in_flight\{.*\} 2$/m)
    expect(await metrics()).toMatch(/^ratelimit_shed_total\{layer="upstream",priority="read",mode="on"\} [2-9]\d*$/m)
    const third = fetch(`${url}/pay`)
    go(2)
    await until('the third is at the app', () => held.length === 1)
    go()
    expect((await Promise.all([first, second, third])).map(({ status }) => status)).toEqual([200, 200, 200])
    const last = fetch(`${url}/a`)
    await until('it is at the app', () => held.length === 1)
    go()
    expect((await last).headers.get('x-ratelimit-remaining')).toBe('99')
  })

  it('has its places free again when clients leave and the app fails', async () => {
    const { held, listener, go } = holding()
    const { url } = await startRoutes(ROUTES, listener)
    const gone = new AbortController()
    const left = fetch(`${url}/pay`, { signal: gone.signal }).catch(() => 'left')
    const failed = fetch(`${url}/pay`, { method: 'POST' })
    await until('both are at the app', () => held.length === 2)
    gone.abort()
    expect(await left).toBe('left')
    for (const response of held.splice(0)) response.destroy()
    expect((await failed).status).toBe(502)
    const next = [fetch(`${url}/pay`), fetch(`${url}/pay`)]
    await until('both are at the app', () => held.length === 2)
    go()
    expect((await Promise.all(next)).map(({ status }) => status)).toEqual([200, 200])
  })

  it('has no place lost after many that left, failed, were slow and were refused', async () => {
    const text = ROUTES.replace('min: 2, max: 2', 'min: 4, max: 8')
    let count = 0
    const { url, admin } = await startRoutes(text, (request, response) => {
      request.resume()
      const kind = count++ % 5
      if (kind === 0) response.destroy()
      else if (kind === 1) setImmediate(() => response.end('late'))
      else if (kind === 2) response.writeHead(200).write('half')
      else response.end('done')
    })
    const one = async (i: number): Promise<void> => {
      const leaves = new AbortController()
      const method = i % 2 === 0 ? 'POST' : 'GET'
      const body = method === 'POST' ? { body: 'x'.repeat((i % 3) * 5_000) } : {}
      const asked = fetch(`${url}/${i % 4 === 0 ? 'pay' : 'a'}`, { method, signal: leaves.signal, ...body })
      if (i % 7 === 0) setImmediate(() => leaves.abort())
      await asked.then((response) => response.body?.cancel()).catch(() => {})
    }
    for (let round = 0; round < 2; round++) await Promise.all(Array.from({ length: 24 }, (_, i) => one(round * 24 + i)))
    await until('nothing is in flight', async () => {
      const metrics = await (await fetch(`${admin}/metrics`)).text()
      return ['in_flight', 'waiting'].every((what) =>
        new RegExp(`^ratelimit_upstream_${what}\\{.*\\} 0$`, 'm').test(metrics),
      )
    })
  })

  it('holds no place for an answer that has begun', async () => {
    const { url } = await startRoutes(ROUTES, (_, response) => {
      response.writeHead(200)
      response.write('begun')
    })
    const streams = await Promise.all(Array.from({ length: 2 }, () => fetch(`${url}/pay`)))
    streams.push(await fetch(`${url}/pay`), await fetch(`${url}/a`))
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await Promise.all(streams.map(({ body }) => body?.cancel()))
  })

  it('does not take an address for broken because requests wait for a place longer than for a connection', async () => {
    const { held, listener, go } = holding()
    const text = ROUTES.replace('priority: critical,', 'priority: critical, times: { connect: 50ms },')
    const { url } = await startRoutes(text, listener)
    const before = [fetch(`${url}/pay`), fetch(`${url}/pay`)]
    await until('both are at the app', () => held.length === 2)
    const late = await Promise.all(Array.from({ length: 6 }, () => fetch(`${url}/pay`)))
    expect(late.map(({ status, headers }) => [status, headers.get('sluice-shed')])).toEqual(
      Array(6).fill([503, 'upstream']),
    )
    go()
    expect((await Promise.all(before)).map(({ status }) => status)).toEqual([200, 200])
  })

  it('refuses no one in shadow mode', async () => {
    const { held, listener, go } = holding()
    const { url } = await startRoutes(ROUTES, listener, ['--shadow-mode'])
    const all = Array.from({ length: 6 }, () => fetch(`${url}/a`))
    await until('all are at the app', () => held.length === 6)
    go()
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(6).fill(200))
  })
})

describe('a caller that is trusted to say how much a request matters', () => {
  const TEXT = ROUTES.replace('upstreams', 'priority_header: X-Priority\nupstreams')

  /** Says what the app hears of a field, and as what a request is shed that says by it that it is critical. */
  async function asked(text: string, args: readonly string[], more: Record<string, string> = {}) {
    const held: ServerResponse[] = []
    const seen: (string | undefined)[] = []
    const { url, admin } = await startRoutes(
      text,
      (request, response) => {
        if (request.url === '/pay') return void held.push(response)
        seen.push(request.headers['x-priority'] as string | undefined)
        response.end()
      },
      args,
    )
    const headers = { 'x-priority': 'critical', ...more }
    expect((await fetch(`${url}/a`, { headers })).status).toBe(200)
    const before = [fetch(`${url}/pay`), fetch(`${url}/pay`)]
    await until('both are at the app', () => held.length === 2)
    expect((await fetch(`${url}/a`, { headers })).status).toBe(503)
    for (const response of held) response.end()
    await Promise.all(before)
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    const [, as] = /^ratelimit_shed_total\{layer="upstream",priority="(\w+)",mode="on"\} 1$/m.exec(metrics) ?? []
    return { as, seen }
  }

  const BELIEVED = { as: 'critical', seen: ['critical'] }
  const IGNORED = { as: 'read', seen: [undefined] }
  const LOOPBACK = ['--trusted-proxies', 'loopback']
  const STRANGER = { 'x-forwarded-for': '203.0.113.9' }

  it('is in a trusted network, and does not send requests through a proxy there', async () => {
    expect(await asked(TEXT, LOOPBACK)).toEqual(BELIEVED)
    expect(await asked(TEXT, LOOPBACK, STRANGER)).toEqual(IGNORED)
  })

  it('is a proxy that is trusted, where the file says so', async () => {
    const proxies = TEXT.replace('X-Priority', '{ name: X-Priority, from: proxies }')
    expect(await asked(proxies, LOOPBACK, STRANGER)).toEqual(BELIEVED)
  })

  it('is no one where proxies are counted, and not named', async () => {
    expect(await asked(TEXT, ['--trusted-proxies', '1'])).toEqual(IGNORED)
  })

  it('is in one of the named networks, and not elsewhere', async () => {
    const named = TEXT.replace('X-Priority', '{ name: X-Priority, from: [192.0.2.0/24] }')
    expect(await asked(named, LOOPBACK, { 'x-forwarded-for': '192.0.2.9' })).toEqual(BELIEVED)
    expect(await asked(named, LOOPBACK, STRANGER)).toEqual(IGNORED)
  })

  it('is no one where no proxy is trusted', async () => {
    expect(await asked(TEXT, [])).toEqual(IGNORED)
  })
})
