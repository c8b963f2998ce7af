import { createHash } from 'node:crypto'
import { connect } from 'node:http2'
import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { exchangeBytes, RecordingGate, startApp, startGateway, talkTo } from './gateway.suite.ts'

/** Starts an upstream that accepts WebSockets and sends back the bytes that come. */
async function startEcho() {
  const sockets: Socket[] = []
  const app = await startApp(
    (_, response) => response.writeHead(426).end('upgrade'),
    (server) => {
      server.on('upgrade', (request, socket: Socket, head: Buffer) => {
        sockets.push(socket)
        socket.on('error', () => {})
        const accept = createHash('sha1')
          .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
          .digest('base64')
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
        )
        if (head.length > 0) socket.write(head)
        socket.pipe(socket)
      })
    },
  )
  return { app, sockets }
}

const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

describe('a WebSocket', () => {
  it('is a tunnel once the upstream accepts it, and the permit ends with it', async () => {
    const gate = new RecordingGate()
    const { app } = await startEcho()
    const { port, gateway } = await startGateway(app, { gate })
    const talk = talkTo(port, `${UPGRADE}early`)
    await until('it is accepted', () => talk.text().includes('s3pPLMBiTxaQ9kYGzzhZRbK+xOo='))
    expect(talk.text()).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    await until('early bytes are echoed', () => talk.text().endsWith('early'))
    talk.socket.write(Buffer.from([0, 255, 10, 13]))
    await until('bytes are echoed', () => talk.text().endsWith('\u0000\u00ff\n\r'))
    expect([gate.statuses, gate.ended, gateway.stats.requests]).toEqual([[101], [], 1])
    talk.socket.end()
    await until('it has ended', () => gate.ended.length === 1)
    expect([gate.ended, gateway.stats.requests]).toEqual([['finish'], 0])
  })

  it('ends at the client when the upstream ends it', async () => {
    const { app, sockets } = await startEcho()
    const { port } = await startGateway(app)
    const talk = talkTo(port, UPGRADE)
    await until('it is accepted', () => talk.text().includes('\r\n\r\n'))
    sockets[0]?.end('bye')
    await until('it has ended', () => talk.isClosed())
    expect(talk.text()).toMatch(/bye$/)
  })

  it('ends at the upstream when the client vanishes', async () => {
    const gate = new RecordingGate()
    const { app, sockets } = await startEcho()
    const { port } = await startGateway(app, { gate })
    const talk = talkTo(port, UPGRADE)
    await until('it is accepted', () => talk.text().includes('\r\n\r\n'))
    talk.socket.resetAndDestroy()
    await until('the upstream hears of it', () => sockets[0]?.destroyed)
    expect(gate.ended).toEqual(['abort'])
  })

  it('that the upstream refuses is answered as any request', async () => {
    const app = await startApp((_, response) => response.writeHead(403).end('no'))
    const { port } = await startGateway(app)
    expect(await exchangeBytes(port, UPGRADE.replace('keep-alive', 'close'))).toMatch(
      /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*\r\nno\r\n0\r\n\r\n$/,
    )
  })

  it('reaches an upstream of HTTP/1.1 from a client of HTTP/2 (RFC 8441)', async () => {
    const { app } = await startEcho()
    const { url } = await startGateway(app)
    const session = connect(url)
    session.on('error', () => {})
    onTestFinished(() => session.destroy())
    await until('the settings are known', () => session.remoteSettings?.enableConnectProtocol)
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/chat',
      'sec-websocket-version': '13',
    })
    let heard = ''
    let status: unknown
    stream.on('response', (headers) => (status = headers[':status']))
    stream.on('data', (data) => (heard += data))
    stream.write('ping')
    await until('the echo arrives', () => heard === 'ping')
    expect(status).toBe(200)
    stream.end()
    await until('it has ended', () => stream.closed)
  })

  it('of HTTP/1.0 is no WebSocket', async () => {
    const { app } = await startEcho()
    const { port } = await startGateway(app)
    expect(await exchangeBytes(port, UPGRADE.replace('HTTP/1.1', 'HTTP/1.0'))).toContain('426')
  })
})
