import { createServer } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import {
  ENDLESS,
  type Gateway,
  ManualClock,
  RecordingGate,
  sendUntilPaused,
  startGateway,
  startRaw,
  talkTo,
} from './gateway.suite.ts'

/** More than systems keep between two sockets: it is the connection that is full, not a window. */
const WINDOW = 256 * 1_048_576
const LENGTH = 2 * WINDOW

/** An upstream of HTTP/2 that answers GET, and takes POST without an answer, behind a line that can stop to be read. */
async function startStopping() {
  const server = createServer({ settings: { initialWindowSize: WINDOW } })
  server.on('session', (session) => {
    session.on('error', () => {})
    session.setLocalWindowSize(WINDOW)
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    if (headers[':method'] === 'GET') stream.respond({ ':status': 200 }, { endStream: true })
    else stream.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const lines = new Set<Socket>()
  let opened = 0
  const address = await startRaw((socket) => {
    opened++
    lines.add(socket)
    const inner = connect(port, '127.0.0.1')
    inner.on('error', () => {})
    socket.pipe(inner)
    inner.pipe(socket)
    socket.on('close', () => {
      lines.delete(socket)
      inner.destroy()
    })
    inner.on('close', () => socket.destroy())
  })
  /** Leaves what the gateway writes in the buffers of the system. */
  const stopReading = () => {
    for (const line of lines) line.unpipe().pause()
  }
  const closeLines = () => {
    for (const line of lines) line.destroy()
  }
  return { address, stopReading, closeLines, opened: () => opened }
}

/** Leads requests to an upstream that stops to read; how long it may take their bodies is out of reach. */
async function startStuck(bodyIdleMs?: number) {
  const clock = new ManualClock()
  const upstream = await startStopping()
  const gate = new RecordingGate()
  const keepAliveMs = 4_000
  const { gateway, url, port } = await startGateway(upstream.address, {
    clock,
    gate,
    upstream: { http2: true, keepAliveMs },
    route: { maxBodyBytes: LENGTH, times: bodyIdleMs === undefined ? ENDLESS : { bodyIdleMs } },
  })
  return { ...upstream, clock, gate, gateway, url, port }
}

/** Sends a body of which the upstream takes nothing, as far as there is room on the way. */
async function upload({ port, stopReading, gateway, url }: Awaited<ReturnType<typeof startStuck>>) {
  expect((await fetch(url)).status).toBe(200)
  stopReading()
  const talk = talkTo(port, `POST /stuck HTTP/1.1\r\nHost: a\r\nContent-Length: ${LENGTH}\r\n\r\n`)
  await sendUntilPaused(talk, gateway, 'send')
  return talk
}

/** Waits for a state that needs time, a second after the other. */
function untilAt(clock: ManualClock, what: string, is: () => boolean): Promise<unknown> {
  return until(what, () => {
    if (is()) return true
    clock.advance(1_000)
    return false
  })
}

/** Waits until a gateway has heard that its client left: one that is not read is looked at once a second. */
function requestIsOver({ gateway, clock }: { readonly gateway: Gateway; readonly clock: ManualClock }) {
  return untilAt(clock, 'the request is over', () => gateway.stats.requests === 0)
}

/** The sockets of this process, those of tests included. */
const connections = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length

describe('an upstream of HTTP/2 that does not read any more', () => {
  it('loses its connection when the request is over', async () => {
    const stuck = await startStuck()
    const talk = await upload(stuck)
    talk.socket.destroy()
    await requestIsOver(stuck)
    expect(stuck.gate.ended).toEqual(['finish', 'abort'])
    expect(stuck.gateway.stats.upstreamConnections).toBe(1)
    await untilAt(stuck.clock, 'its connection is closed', () => stuck.gateway.stats.upstreamConnections === 0)
  })

  it('does not hold up a drain, with its request in flight or done', async () => {
    for (const isOver of [false, true]) {
      const stuck = await startStuck()
      const talk = await upload(stuck)
      if (isOver) talk.socket.destroy()
      let isDrained = false
      const drained = stuck.gateway.drain(30_000).then(() => {
        isDrained = true
      })
      await untilAt(stuck.clock, 'it is drained', () => isDrained)
      await drained
      await until('its connection is closed', () => stuck.gateway.stats.upstreamConnections === 0)
      expect(stuck.gateway.stats).toMatchObject({ connections: 0, requests: 0 })
    }
  })

  it('loses its connection when it is an upstream no more', async () => {
    const stuck = await startStuck()
    const talk = await upload(stuck)
    const connected = connections()
    const routes = [{ name: 'all', path: '/*', upstream: 'app' }]
    stuck.gateway.reload({ routes, upstreams: { app: { addresses: ['http://127.0.0.1:9'] } } })
    expect(stuck.gateway.stats.requests).toBe(1)
    talk.socket.destroy()
    await requestIsOver(stuck)
    // That of the client, the end of it in the gateway, and the one to the upstream.
    await untilAt(stuck.clock, 'its connection is closed', () => connections() <= connected - 3)
  })

  it('gets no other request on a connection that said nothing until one was given up', async () => {
    const stuck = await startStuck(30_000)
    const talk = await upload(stuck)
    await until('the time for the body is over', () => {
      stuck.clock.advance(10_000)
      return stuck.gateway.stats.requests === 0
    })
    await until('the client is notified', () => /^HTTP\/1.1 504 /.test(talk.text()))
    expect((await fetch(stuck.url)).status).toBe(200)
    expect(stuck.opened()).toBe(2)
  })

  it('leaves nothing behind', async () => {
    const before = connections()
    const stuck = await startStuck()
    for (let i = 0; i < 5; i++) {
      const talk = await upload(stuck)
      talk.socket.destroy()
      await requestIsOver(stuck)
      await untilAt(stuck.clock, 'its connection is closed', () => stuck.gateway.stats.upstreamConnections === 0)
    }
    await stuck.gateway.close()
    expect(stuck.opened()).toBe(5)
    stuck.closeLines()
    await until('all sockets are closed', () => connections() <= before)
    expect(stuck.clock.timers).toBe(0)
  })
})
