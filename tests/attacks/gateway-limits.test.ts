import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startRoutes, statuses } from '../../server/src/app/gateway/gateway.suite.ts'
import { JsonScanner } from '../../server/src/edge/gateway-rules/json-scanner.ts'
import { SseScanner } from '../../server/src/edge/gateway-rules/sse-scanner.ts'
import { until } from '../servers/until.mjs'

const LOGIN = `
upstreams: { app: APP }
routes:
  - path: /login
    limits: [{ name: account, requests_per_unit: 2, unit: hour, by: { json: user.email }, on_status: [401] }]
  - path: /form
    limits: [{ name: account, requests_per_unit: 2, unit: hour, by: { form: email }, on_status: [401] }]
`

const refuse = (request: IncomingMessage, response: ServerResponse): void => {
  request.resume()
  request.on('end', () => response.writeHead(401).end())
}

describe('an attacker who guesses the password of one account', () => {
  const spellings: readonly [how: string, body: string][] = [
    ['itself', '{"user": {"email": "victim@a.b"}}'],
    ['capitals', '{"user": {"email": "VICTIM@A.B "}}'],
    ['escapes', '{"\\u0075ser": {"\\u0065mail": "victim@a\\u002eb"}}'],
    ['a second name before it', '{"user": {"email": "other@a.b", "email": "victim@a.b"}}'],
    ['a second name after it', '{"user": {"email": "victim@a.b", "email": "another@a.b"}}'],
    ['a long text before it', `{"pad": "${'x'.repeat(8_000)}", "user": {"email": "victim@a.b"}}`],
    ['a deep list before it', `{"pad": ${'['.repeat(3_000)}${']'.repeat(3_000)}, "user": {"email": "victim@a.b"}}`],
    ['letters of another width', '{"user": {"email": "\uFF56ictim@a.b"}}'],
  ]

  it('has two guesses, and no more by another form', async () => {
    const { url } = await startRoutes(LOGIN, refuse)
    const post = (body: string, i: number) => () =>
      fetch(`${url}/login`, { method: 'POST', body: body.replace('ictim', `ictim${i}`).replace('ICTIM', `ICTIM${i}`) })
    const found: [how: string, status: number | undefined][] = []
    for (const [i, [how, body]] of spellings.entries()) {
      expect(await statuses(2, post(spellings[0][1], i))).toEqual([401, 401])
      found.push([how, (await statuses(1, post(body, i)))[0]])
    }
    expect(found).toEqual(spellings.map(([how]) => [how, 429]))
  })

  it('does not get around it with a field that stands in a form twice', async () => {
    const { url } = await startRoutes(LOGIN, refuse)
    const send = (body: string) => () => fetch(`${url}/form`, { method: 'POST', body })
    expect(await statuses(2, send('email=victim%40a.b&x=1'))).toEqual([401, 401])
    expect(await statuses(1, send('email=new%40a.b&email=victim%40a.b'))).toEqual([429])
    expect(await statuses(1, send('email=victim%40a.b&email=newer%40a.b'))).toEqual([429])
  })

  it('is counted by address where it shows no account at all', async () => {
    const { url } = await startRoutes(LOGIN, refuse)
    const bodies = ['', '[]', 'null', '{"user": 7}', `{"user": {"email": "${'x'.repeat(15_000)}"}}`]
    const found: number[] = []
    for (const body of bodies) found.push(...(await statuses(1, () => fetch(`${url}/login`, { method: 'POST', body }))))
    expect(found).toEqual([401, 401, 429, 429, 429])
  })
})

describe('an answer that passes a tap', () => {
  const held = (make: () => void): number => {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
    make()
    globalThis.gc?.()
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - before
  }

  it('is not kept, however long its lines and texts are', () => {
    const piece = Buffer.alloc(65_536, 'x')
    const [sse, json] = [new SseScanner('usage.total'), new JsonScanner('usage.total')]
    const bytes = held(() => {
      sse.push(Buffer.from('data: {"text": "'))
      json.push(Buffer.from('{"text": "'))
      for (let i = 0; i < 100; i++) {
        sse.push(piece)
        json.push(piece)
      }
    })
    expect(bytes).toBeLessThan(5_000_000)
    sse.push(Buffer.from('", "usage": {"total": 5}}\n\n'))
    json.push(Buffer.from('", "usage": {"total": 6}}'))
    expect([sse.lastNumber, json.lastNumber]).toEqual([5, 6])
  })

  it('is not kept, however deep it is, and however many numbers it has', () => {
    const json = new JsonScanner('a')
    json.push(Buffer.from('['.repeat(500_000)))
    json.push(Buffer.from(']'.repeat(500_000)))
    json.push(Buffer.from(`{${'"a": 1, "a": 2,'.repeat(10_000)}"a": 3}`))
    expect(json.values.length).toBeLessThanOrEqual(4)
    expect(json.lastNumber).toBe(3)
  })
})

describe('a crowd that waits', () => {
  it('takes no one else’s permit, and its own are released when it leaves', async () => {
    const text = `
upstreams: { app: APP }
limits: [{ requests_per_unit: 2, window: 2h, queue: 50 }]
queue: { requests: 20, per_caller: 3, longest: 24h }
trusted_proxies: [loopback]
`
    const { url } = await startRoutes(text, (_, response) => response.end())
    const from = (ip: string, signal?: AbortSignal) =>
      fetch(url, { headers: { 'X-Forwarded-For': ip }, ...(signal && { signal }) }).then(
        ({ status }) => status,
        () => 0,
      )
    const gone = new AbortController()
    expect(await from('192.0.2.1')).toBe(200)
    const crowd = Array.from({ length: 10 }, () => from('192.0.2.1', gone.signal))
    let refused = 0
    for (const each of crowd) void each.then((status) => (refused += status === 429 ? 1 : 0))
    await until('all but three are refused', () => refused === 7)
    expect(await from('192.0.2.2')).toBe(200)
    gone.abort()
    expect((await Promise.all(crowd)).filter((status) => status === 0)).toHaveLength(3)
    await until('their places are free', async () => {
      const again = new AbortController()
      const status = Promise.race([
        from('192.0.2.1', again.signal),
        new Promise((resolve) => setTimeout(resolve, 50, 'waits')),
      ])
      const how = await status
      again.abort()
      return how === 'waits'
    })
  })
})
