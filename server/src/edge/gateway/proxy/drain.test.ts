import { Agent, request as httpRequest, type ServerResponse } from 'node:http'
import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import {
  ManualClock,
  RecordingGate,
  SOCKET_FIELDS,
  SWITCHING,
  startApp,
  startGateway,
  talkTo,
} from './gateway.suite.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'

describe('drain', () => {
  it('lets a request end, has its client close, and accepts no one new', async () => {
    const waiting: ServerResponse[] = []
    const app = await startApp((_, response) => waiting.push(response))
    const { port, gateway } = await startGateway(app)
    const talk = talkTo(port, GET)
    await until('it is asked', () => waiting.length === 1)
    const drained = gateway.drain(60_000)
    waiting[0]?.end('ok')
    await drained
    await until('it is closed', () => talk.isClosed())
    expect(talk.text()).toMatch(/\r\nconnection: close\r\n\r\n[\s\S]*ok/)
    const late = talkTo(port)
    await until('it is turned away', () => late.isClosed())
  })

  it('still answers a request that was on its way on an idle connection', async () => {
    const clock = new ManualClock()
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app, { clock })
    const talk = talkTo(port, GET)
    await until('the first is answered', () => talk.text().endsWith('ok'))
    const drained = gateway.drain(60_000)
    talk.socket.write(GET)
    await until('the second is answered too', () => talk.text().match(/200 OK/g)?.length === 2)
    await until('it is closed', () => talk.isClosed())
    talk.socket.end()
    await drained
    expect(talk.text()).toContain('connection: close')
  })

  it('closes idle connections after a moment', async () => {
    const clock = new ManualClock()
    const app = await startApp((_, response) => response.end('ok'))
    const { port, gateway } = await startGateway(app, { clock })
    const talk = talkTo(port, GET)
    await until('it is answered', () => talk.text().endsWith('ok'))
    const drained = gateway.drain(60_000)
    clock.advance(1_100)
    await drained
    await until('it is closed', () => talk.isClosed())
  })

  it('says GOAWAY to HTTP/2, and lets its streams end', async () => {
    const clock = new ManualClock()
    const waiting: ServerResponse[] = []
    const app = await startApp((_, response) => waiting.push(response))
    const { url, gateway } = await startGateway(app, { clock })
    const session = connect(url)
    onTestFinished(() => session.destroy())
    const goaways: number[] = []
    session.on('goaway', (code) => goaways.push(code))
    session.on('error', () => {})
    const stream = session.request({ ':path': '/' })
    let body = ''
    stream.on('data', (data) => (body += data))
    await until('it is asked', () => waiting.length === 1)
    const drained = gateway.drain(60_000)
    await until('the first notice is there', () => goaways.length > 0)
    clock.advance(600)
    waiting[0]?.end('ok')
    await drained
    await until('the stream has ended', () => stream.closed)
    expect([body, goaways[0]]).toEqual(['ok', 0])
  })

  it('ends WebSockets and what still runs at the end of the grace', async () => {
    const clock = new ManualClock()
    const gate = new RecordingGate()
    const app = await startApp(
      () => {},
      (server) =>
        server.on('upgrade', (_, socket) => {
          socket.on('error', () => {})
          socket.write(SWITCHING)
        }),
    )
    const { port, gateway } = await startGateway(app, { clock, gate })
    const tunnel = talkTo(port, `GET / HTTP/1.1\r\nHost: a\r\n${SOCKET_FIELDS}\r\n`)
    await until('it is a tunnel', () => tunnel.text().includes('101'))
    const slow = talkTo(port, GET)
    await until('both run', () => gateway.stats.requests === 2)
    const drained = gateway.drain(5_000)
    clock.advance(4_900)
    expect([gate.ended, gateway.stats.requests]).toEqual([[], 2])
    clock.advance(200)
    await drained
    await until('both are closed', () => tunnel.isClosed() && slow.isClosed())
    expect([gate.ended.length, gateway.stats.requests, gateway.stats.upstreamConnections]).toEqual([2, 0, 0])
  })

  it('fails no request of clients that keep asking', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const [first, second] = [await startGateway(app), await startGateway(app)]
    // What a balancer does: nobody is sent to a gateway that drains.
    let port = first.port
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const ask = (): Promise<number> =>
      new Promise((resolve, reject) => {
        httpRequest({ port, host: '127.0.0.1', agent }, (response) =>
          response.resume().on('end', () => resolve(response.statusCode ?? 0)),
        )
          .on('error', reject)
          .end()
      })
    let isOver = false
    let answered = 0
    const callers = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        expect(await ask()).toBe(200)
        answered++
      }
    })
    await until('traffic flows', () => answered > 50)
    port = second.port
    await first.gateway.drain(30_000)
    const before = answered
    await until('traffic flows on', () => answered > before + 50)
    isOver = true
    await Promise.all(callers)
  })
})

describe('reload', () => {
  it('leads new requests to the new table, and lets running ones end with theirs', async () => {
    const waiting: ServerResponse[] = []
    const first = await startApp((_, response) => waiting.push(response))
    const second = await startApp((_, response) => response.end('second'))
    const { url, gateway } = await startGateway(first)
    const old = fetch(url)
    await until('it is asked', () => waiting.length === 1)
    gateway.reload({ routes: [{ name: 'b', path: '/*', upstream: 'b' }], upstreams: { b: { addresses: [second] } } })
    expect(await (await fetch(url)).text()).toBe('second')
    waiting[0]?.end('first')
    expect(await (await old).text()).toBe('first')
  })

  it('keeps the old table when the new one is wrong', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { url, gateway } = await startGateway(app)
    expect(() => gateway.reload({ routes: [{ name: 'x', path: '/*', upstream: 'nobody' }], upstreams: {} })).toThrow(
      'GATEWAY_OPTIONS_INVALID: routes[0].upstream: got "nobody". Known upstreams: . See docs/gateway.md',
    )
    expect(await (await fetch(url)).text()).toBe('ok')
  })
})
