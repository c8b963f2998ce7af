import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GatewayBounds } from '../../server/src/edge/gateway/options.ts'
import { startApp } from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { openGateway } from '../../server/src/edge/gateway/proxy/gateway.ts'
import { HeldBody } from '../../server/src/edge/gateway/proxy/held-body.ts'
import { Ceiling } from '../../server/src/edge/gateway-rules/ceiling.ts'
import { compileRoutes } from '../../server/src/edge/gateway-rules/file/compile-routes.ts'
import { LimitGate } from '../../server/src/edge/gateway-rules/limit-gate.ts'
import { compileObjects } from '../../src/core/rules/compile.ts'
import { parseRules } from '../../src/core/rules/parse.ts'
import type { RuleFile } from '../../src/core/rules/schema.ts'
import { Limiter } from '../../src/engine/limiter.ts'
import { MemoryStore } from '../../src/stores/memory/memory-store.ts'
import { until } from '../servers/until.mjs'

const ATTACKER = '127.0.0.3'
const VICTIM = '127.0.0.2'

/** Runs a gateway with the limits of a routes file, small enough to be filled by a few connections. */
async function startLimited(limits: string, bounds: Partial<GatewayBounds> = {}, route = '') {
  const app = await startApp((request: IncomingMessage, response: ServerResponse) => {
    request.resume().on('end', () => response.end('served'))
  })
  const text = `
upstreams: { app: '${app}' }
routes:
  - path: /login
    ${route}
    limits:
${limits}
`
  const { table, rules } = compileRoutes(parseRules('gateway.yaml', text), 'gateway.yaml')
  const compiled = compileObjects(rules.map(({ value }) => value as RuleFile))
  const limiter = new Limiter(() => compiled, new MemoryStore())
  const gate = new LimitGate({ limiter, ceiling: new Ceiling(new MemoryStore()) })
  const gateway = await openGateway({ ...table, listeners: [{ port: 0, host: '127.0.0.1' }], gate, bounds })
  onTestFinished(() => gateway.close())
  return { gateway, port: gateway.addresses[0]?.port as number }
}

const ADDRESS = '      - { name: address, requests_per_unit: 100, unit: hour, by: ip }'
const ACCOUNT = '      - { name: account, requests_per_unit: 1000, unit: hour, by: { json: email } }'

/** A whole request of somebody who means it, and returns its status. */
function post(port: number, body: string, localAddress = VICTIM): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path: '/login', method: 'POST', localAddress, agent: false })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.end(body)
  })
}

/** Sends a head and a part of the body; `end` sends the rest, and returns the answer. */
function slowPost(port: number, body: string, { localAddress = VICTIM, head = '' } = {}) {
  const socket: Socket = connect({ host: '127.0.0.1', port, localAddress })
  const pieces: string[] = []
  socket.setEncoding('latin1').on('data', (piece: string) => pieces.push(piece))
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  const half = head === '' ? Math.floor(body.length / 2) : 0
  socket.write(`POST /login HTTP/1.1\r\nHost: a\r\n${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, half)}`)
  const status = () => Number(/^HTTP\/1\.1 (\d+)/.exec(pieces.join(''))?.[1] ?? 0)
  return {
    socket,
    status,
    text: () => pieces.join(''),
    end: async () => {
      socket.write(body.slice(half))
      return await until('it is answered', status)
    },
  }
}

/** A Crowd opens requests on HTTP/2 whose bodies never end, and counts what they are answered. */
class Crowd {
  readonly sessions: ClientHttp2Session[] = []
  readonly statuses = new Map<number, number>()

  constructor(port: number, sessions: number, streams: number, localAddress = ATTACKER) {
    for (let i = 0; i < sessions; i++) {
      const session = connectHttp2(`http://127.0.0.1:${port}`, {
        createConnection: () => connect({ host: '127.0.0.1', port, localAddress }),
      })
      session.on('error', () => {})
      this.sessions.push(session)
      onTestFinished(() => session.destroy())
      for (let j = 0; j < streams; j++) this.#open(session)
    }
  }

  count(status: number): number {
    return this.statuses.get(status) ?? 0
  }

  get answered(): number {
    return [...this.statuses.values()].reduce((sum, count) => sum + count, 0)
  }

  #open(session: ClientHttp2Session): void {
    const stream = session.request({ ':path': '/login', ':method': 'POST' }, { endStream: false })
    stream.on('error', () => {})
    stream.on('response', (headers) => {
      const status = Number(headers[constants.HTTP2_HEADER_STATUS])
      this.statuses.set(status, this.count(status) + 1)
    })
    stream.resume()
  }
}

describe('requests whose bodies never come', () => {
  it('are counted by the limits that need no body', async () => {
    const { port, gateway } = await startLimited(`${ADDRESS}\n${ACCOUNT}`, { maxRequests: 300 })
    const crowd = new Crowd(port, 4, 128)
    await until('all above the limit are refused', () => crowd.answered === 412)
    expect(crowd.count(429)).toBe(412)
    expect(gateway.stats.requests).toBe(100)
    expect(await post(port, '{"email": "a@b.c"}')).toBe(200)
  })

  it('and that show nothing but their heads are counted over HTTP/1.1 too', async () => {
    const { port, gateway } = await startLimited(`${ADDRESS.replace('100', '2')}\n${ACCOUNT}`)
    const heads = Array.from({ length: 4 }, () =>
      slowPost(port, '{"email": "a@b.c"}', { localAddress: ATTACKER, head: 'X-A: b\r\n' }),
    )
    await until('two are refused', () => heads.filter(({ status }) => status() === 429).length === 2)
    expect(gateway.stats.requests).toBe(2)
  })

  it('leave room for other addresses where no limit counts them', async () => {
    const { port, gateway } = await startLimited(ACCOUNT, { maxRequests: 300, maxAwaitedBodies: 64 })
    const slow = slowPost(port, '{"email": "a@b.c"}')
    await until('the body is waited for', () => gateway.stats.requests === 1)
    const crowd = new Crowd(port, 4, 128)
    await until('excess ones are ended', () => crowd.answered >= 512 - 63)
    expect(crowd.count(503)).toBe(crowd.answered)
    expect(gateway.stats.requests).toBeLessThanOrEqual(64)
    expect(await post(port, '{"email": "a@b.c"}')).toBe(200)
    expect(await slow.end()).toBe(200)
  })

  it('stay charged when their clients leave', async () => {
    const { port, gateway } = await startLimited(`${ADDRESS.replace('100', '2')}\n${ACCOUNT}`)
    for (let i = 0; i < 2; i++) {
      const slow = slowPost(port, '{"email": "a@b.c"}')
      await until('the body is waited for', () => gateway.stats.requests === 1)
      slow.socket.destroy()
      await until('it is gone', () => gateway.stats.requests === 0)
    }
    expect(await post(port, '{"email": "a@b.c"}')).toBe(429)
  })

  it('are refused without being asked for their body', async () => {
    const { port } = await startLimited(`${ADDRESS.replace('100', '1')}\n${ACCOUNT}`)
    const head = 'Expect: 100-continue\r\n'
    const first = slowPost(port, '{"email": "a@b.c"}', { head })
    await until('the body is asked for', () => first.text().startsWith('HTTP/1.1 100 '))
    first.socket.write('{"email": "a@b.c"}')
    await until('it is served', () => first.text().includes('HTTP/1.1 200 '))
    const second = slowPost(port, '{"email": "a@b.c"}', { head })
    await until('it is refused', () => second.status() === 429)
  })
})

describe('a request whose body comes late', () => {
  const TIGHT = `${ADDRESS.replace('100', '3')}\n${ACCOUNT.replace('1000', '1')}`

  it('is charged to no limit where limits on its body refuse it', async () => {
    const { port, gateway } = await startLimited(TIGHT)
    const late = async (account: string): Promise<number> => {
      const slow = slowPost(port, JSON.stringify({ email: account }))
      await until('the body is waited for, or refused', () => gateway.stats.requests === 1 || slow.status() > 0)
      const status = await slow.end()
      await until('it is over', () => gateway.stats.requests === 0)
      return status
    }
    const found: number[] = []
    for (const account of ['a', 'a', 'a', 'b', 'c', 'd']) found.push(await late(account))
    expect(found).toEqual([200, 429, 429, 200, 200, 429])
  })

  it('is charged like one whose body comes immediately', async () => {
    const { port } = await startLimited(TIGHT)
    const found: number[] = []
    for (const account of ['a', 'a', 'a', 'b', 'c', 'd'])
      found.push(await post(port, JSON.stringify({ email: account })))
    expect(found).toEqual([200, 429, 429, 200, 200, 429])
  })

  it('gives its place back where the limits of its body refuse it', async () => {
    const place = '      - { name: at once, algorithm: concurrency, requests_per_unit: 1, by: ip }'
    const { port, gateway } = await startLimited(`${place}\n${ACCOUNT.replace('1000', '1')}`)
    expect(await post(port, '{"email": "a"}')).toBe(200)
    const slow = slowPost(port, '{"email": "a"}')
    await until('the body is waited for', () => gateway.stats.requests === 1)
    expect(await post(port, '{"email": "b"}')).toBe(429)
    expect(await slow.end()).toBe(429)
    await until('it is over', () => gateway.stats.requests === 0)
    expect(await post(port, '{"email": "b"}')).toBe(200)
  })

  it('shows its client all limits', async () => {
    const { port, gateway } = await startLimited(TIGHT)
    const slow = slowPost(port, '{"email": "a"}')
    await until('the body is waited for', () => gateway.stats.requests === 1)
    await slow.end()
    expect(slow.text().toLowerCase()).toMatch(/ratelimit-policy: "account";q=1;w=3600, "address";q=3;w=3600\r\n/)
  })
})

describe('a body that is looked into', () => {
  const padded = (bytes: number) => `{"email": "a", "pad": "${'x'.repeat(bytes)}"}`

  it('is refused where there is more of it than what is looked into', async () => {
    const { port, gateway } = await startLimited(`${ADDRESS}\n${ACCOUNT}`)
    expect(await post(port, padded(16_000))).toBe(200)
    expect(await post(port, padded(17_000))).toBe(413)
    const chunked = slowPost(port, '', { head: 'Transfer-Encoding: chunked\r\nX-Instead-Of-' })
    chunked.socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
    await until('all that is looked into is there', () => gateway.inFlight()[0]?.bodyBytes === 16_384)
    // Nothing goes to the upstream before it is clear that there is no more.
    expect(gateway.inFlight()[0]?.phase).toBe('peek')
    chunked.socket.write('1\r\nx\r\n')
    expect(await until('it is answered', chunked.status)).toBe(413)
  })

  it('may be longer where the route says so', async () => {
    const { port } = await startLimited(`${ADDRESS}\n${ACCOUNT}`, {}, 'max_body: 100000')
    expect(await post(port, padded(90_000))).toBe(200)
    expect(await post(port, padded(110_000))).toBe(413)
  })

  it('costs no more memory than its bytes, however small its pieces are', () => {
    const held = Array.from({ length: 200 }, () => new HeldBody())
    globalThis.gc?.()
    const before = process.memoryUsage()
    const slab = Buffer.alloc(16_384, 'x')
    for (const body of held) for (let i = 0; i < slab.length; i++) body.add(slab.subarray(i, i + 1))
    globalThis.gc?.()
    const after = process.memoryUsage()
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(40_000_000)
    expect(held.every((body) => body.take()?.equals(slab))).toBe(true)
  })
})
