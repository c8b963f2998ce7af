import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { ManualClock, RecordingGate, type Setup, startApp, startGateway, startRaw, talkTo } from './gateway.suite.ts'

const H = 'Host: a.example\r\n'
const GET = `GET / HTTP/1.1\r\n${H}\r\n`

async function timed(app: string | readonly string[], setup: Setup = {}) {
  const clock = new ManualClock()
  const gate = new RecordingGate()
  const started = await startGateway(app, { clock, gate, ...setup, route: { retries: 0, ...setup.route } })
  return { ...started, clock, gate }
}

describe('the time of each phase', () => {
  it('bounds the head: 408 for half of one, and nothing for none', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, clock, url } = await timed(app, { bounds: { headMs: 1_000 } })
    const silent = talkTo(port)
    const slow = talkTo(port, 'GET / HTTP/1.1\r\nHo')
    await new Promise<void>((resolve) => void slow.socket.write('s', () => resolve()))
    // What was sent before this was asked has been read when it is answered.
    await (await fetch(url)).text()
    await until('their time is over', () => {
      clock.advance(600)
      return silent.isClosed() && slow.isClosed()
    })
    expect(silent.text()).toBe('')
    expect(slow.text()).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*GATEWAY_REQUEST_TIMEOUT/)
  })

  it('bounds the head of a second request too', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, clock } = await timed(app, { bounds: { headMs: 1_000, keepAliveMs: 60_000 } })
    const talk = talkTo(port, GET)
    await until('the first is answered', () => talk.text().includes('ok'))
    talk.socket.write('GET / HT')
    await until('the time is over', () => {
      clock.advance(600)
      return talk.isClosed()
    })
    expect(talk.text()).toContain('408 Request Timeout')
  })

  it('closes a connection that waits for too long, without a word', async () => {
    const app = await startApp((_, response) => response.end('ok'))
    const { port, clock } = await timed(app, { bounds: { keepAliveMs: 5_000 } })
    const talk = talkTo(port, GET)
    await until('it is answered', () => talk.text().includes('ok'))
    const before = talk.text()
    await until('it is closed', () => {
      clock.advance(2_000)
      return talk.isClosed()
    })
    expect(talk.text()).toBe(before)
  })

  it('bounds the pauses of a body: 408', async () => {
    let hasCome = false
    const app = await startApp(() => (hasCome = true))
    const { port, clock, gate } = await timed(app, { route: { times: { bodyIdleMs: 3_000 } } })
    const talk = talkTo(port, `POST / HTTP/1.1\r\n${H}Content-Length: 10\r\n\r\nabc`)
    await until('the upstream has it', () => hasCome)
    clock.advance(2_000)
    talk.socket.write('d')
    await until('the time is over', () => {
      clock.advance(1_000)
      return talk.isClosed()
    })
    expect(talk.text()).toMatch(/^HTTP\/1\.1 408 /)
    expect(gate.ended).toEqual(['abort'])
  })

  it('bounds the time to the first byte: 504', async () => {
    let hasCome = false
    const app = await startApp(() => (hasCome = true))
    const { port, clock, gate } = await timed(app, { route: { times: { firstByteMs: 3_000 } } })
    const talk = talkTo(port, GET)
    await until('the upstream has it', () => hasCome)
    clock.advance(2_980)
    expect(gate.ended).toEqual([])
    clock.advance(40)
    await until('it is answered', () => talk.text().includes('GATEWAY_UPSTREAM_TIMEOUT'))
    expect(talk.text()).toMatch(/^HTTP\/1\.1 504 /)
    expect([gate.ended, gate.statuses]).toEqual([['upstream-error'], [504]])
  })

  it('bounds the time to connect: 504', async () => {
    // A listener whose queue is full takes no more connections; the gateway's clock is what ends the attempt.
    const { port, clock, gateway } = await timed('http://192.0.2.1:81', { route: { times: { connectMs: 2_000 } } })
    const talk = talkTo(port, GET)
    await until('it is in flight or refused by the network', () => gateway.stats.requests === 1 || talk.text() !== '')
    clock.advance(2_100)
    await until('it is answered', () => talk.text().includes('GATEWAY_UPSTREAM_'))
    expect(talk.text()).toMatch(/^HTTP\/1\.1 50[24] /)
    expect(gateway.stats.upstreamConnections).toBe(0)
  })

  it('bounds the pauses of an answer, which then does not look complete', async () => {
    let response: ServerResponse | undefined
    const app = await startApp((_, made) => {
      response = made
      made.writeHead(200, { 'Content-Length': 10 })
      made.write('abc')
    })
    const { port, clock, gate } = await timed(app, { route: { times: { idleMs: 4_000 } } })
    const talk = talkTo(port, GET)
    await until('it has begun', () => talk.text().endsWith('abc'))
    clock.advance(3_000)
    response?.write('d')
    await until('it continues', () => talk.text().endsWith('abcd'))
    clock.advance(3_900)
    expect(gate.ended).toEqual([])
    clock.advance(200)
    await until('it is broken off', () => talk.isClosed())
    expect(gate.ended).toEqual(['upstream-error'])
  })

  it('bounds a client that does not read', async () => {
    const app = await startApp((_, response) => {
      response.on('error', () => {})
      response.end(Buffer.alloc(64 * 1_048_576))
    })
    const { port, clock, gate, gateway } = await timed(app, { route: { times: { idleMs: 4_000 } } })
    const talk = talkTo(port)
    talk.socket.pause()
    talk.socket.write(GET)
    await until('the upstream has to wait', () => gateway.inFlight()[0]?.isUpstreamPaused)
    await until('it is given up', () => {
      clock.advance(1_000)
      return gate.ended.length === 1
    })
    expect([gate.ended, gateway.stats.requests]).toEqual([['abort'], 0])
    await until('its connection is closed', () => {
      clock.advance(1_000)
      return gateway.stats.connections === 0
    })
  })

  it('bounds the whole', async () => {
    const app = await startRaw((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'))
    })
    const { port, clock, gate } = await timed(app, { route: { times: { totalMs: 10_000 } } })
    const talk = talkTo(port, GET)
    await until('it has begun', () => talk.text().endsWith('abc'))
    clock.advance(10_100)
    await until('it is broken off', () => talk.isClosed())
    expect(gate.ended).toHaveLength(1)
  })
})
