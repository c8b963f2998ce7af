import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startRoutes } from '../../server/src/app/gateway/gateway.suite.ts'
import { exchangeBytes, talkTo } from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { until } from '../servers/until.mjs'

const ROUTES = `
priority_header: X-Priority
upstreams: { app: { addresses: [APP], concurrency: { min: 2, max: 2 } } }
routes:
  - { name: pay, path: /pay, priority: critical, limits: [100000/1h] }
  - { name: all, limits: [100000/1h] }
`

const portOf = (url: string): number => Number(new URL(url).port)

describe('a stranger who says that its requests are critical', () => {
  const spellings: readonly (readonly string[])[] = [
    ['X-Priority: critical'],
    ['x-priority: 0'],
    ['X_Priority: critical'],
    ['X-Priority: test', 'X-Priority: critical'],
    ['X-Priority: critical', 'X_PRIORITY: critical'],
    ['Connection: x-priority', 'X-Priority: critical'],
    ['X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1', 'X-Priority: critical'],
  ]

  it('is shed as before, and the upstream hears nothing of it', async () => {
    const held: ServerResponse[] = []
    const heard: string[] = []
    const { url, admin } = await startRoutes(ROUTES, (request: IncomingMessage, response) => {
      heard.push(...request.rawHeaders.filter((name, i) => i % 2 === 0 && /x.priority/i.test(name)))
      if (request.url === '/pay') held.push(response)
      else response.end()
    })
    const send = (lines: readonly string[]): Promise<string> =>
      exchangeBytes(portOf(url), ['GET /a HTTP/1.1', 'Host: a', 'Connection: close', ...lines, '', ''].join('\r\n'))
    for (const lines of spellings) expect(await send(lines)).toMatch(/^HTTP\/1\.1 200 /)
    const before = [fetch(`${url}/pay`), fetch(`${url}/pay`)]
    await until('both are at the app', () => held.length === 2)
    for (const lines of spellings) expect(await send(lines)).toMatch(/^HTTP\/1\.1 503 [\s\S]*sluice-shed: upstream/i)
    for (const response of held) response.end()
    await Promise.all(before)
    expect(heard).toEqual([])
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    const shed = [...metrics.matchAll(/^ratelimit_shed_total\{layer="upstream",(.*)\} ([1-9]\d*)$/gm)]
    expect(shed.map(([, labels, count]) => [labels, Number(count)])).toEqual([
      ['priority="read",mode="on"', spellings.length],
    ])
  })
})

describe('clients that are slow on purpose', () => {
  it('keep no one out by sending bodies byte by byte', async () => {
    const { url } = await startRoutes(ROUTES, (request, response) => {
      request.resume()
      request.on('end', () => response.end())
    })
    const slow = Array.from({ length: 50 }, () =>
      talkTo(portOf(url), 'POST /pay HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nx'),
    )
    await until('others are served', async () => (await fetch(`${url}/a`)).status === 200)
    expect(slow.filter(({ isClosed }) => isClosed()).length).toBeLessThan(50)
  })

  it('keep no one out by not reading answers', async () => {
    const { url } = await startRoutes(ROUTES, (_, response) => response.end('x'.repeat(1_000_000)))
    for (let i = 0; i < 20; i++) talkTo(portOf(url), 'GET /pay HTTP/1.1\r\nHost: a\r\n\r\n').socket.pause()
    await until('others are served', async () => (await fetch(`${url}/a`)).status === 200)
  })

  it('who wait for a place are bounded', async () => {
    const held: ServerResponse[] = []
    const text = ROUTES.replace('max: 2 }', 'max: 2 }, max_waiting: 5')
    const { url } = await startRoutes(text, (_, response) => void held.push(response))
    const all = Array.from({ length: 40 }, () => fetch(`${url}/pay`))
    await until('most are refused', async () => {
      const answered = await Promise.all(all.map((each) => Promise.race([each, undefined])))
      return answered.filter((response) => response?.status === 503).length >= 33
    })
    const end = setInterval(() => {
      for (const response of held.splice(0)) response.end()
    }, 5)
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    clearInterval(end)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2)
  })
})
