import { createHash } from 'node:crypto'
import { type ClientHttp2Session, connect, createServer } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import express from 'express'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  exchangeBytes,
  RecordingGate,
  startApp,
  startGateway,
  startRaw,
  talkTo,
} from '../../server/src/edge/gateway/proxy/gateway.suite.ts'
import { startNginxProxy } from '../servers/nginx.mjs'
import { until } from '../servers/until.mjs'

const H = 'Host: a.example\r\n'
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const SOCKET_FIELDS = `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`
const UPGRADE = `GET /chat HTTP/1.1\r\n${H}Connection: Upgrade\r\n${SOCKET_FIELDS}\r\n`
const SMUGGLED = `POST /login HTTP/1.1\r\n${H}X-Forwarded-For: 6.6.6.6\r\nContent-Length: 0\r\n\r\n`
const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')

interface Upstream {
  readonly url: string
  /** What it has served, in its own reading. */
  readonly served: string[]
}

/** Upstreams that answer a WebSocket as any request, and serve on. */
const UPSTREAMS: Record<string, () => Promise<Upstream>> = {
  async 'a server of Node.js'() {
    const served: string[] = []
    const url = await startApp((request, response) => {
      served.push(`${request.method} ${request.url}`)
      response.end('ok')
    })
    return { url, served }
  },
  async Express() {
    const served: string[] = []
    const app = express()
    app.use((request, response) => {
      served.push(`${request.method} ${request.url}`)
      response.send('ok')
    })
    return { url: await startApp(app), served }
  },
  async nginx() {
    const { url, served } = await (UPSTREAMS['a server of Node.js'] as () => Promise<Upstream>)()
    const nginx = await startNginxProxy(Number(new URL(url).port))
    onTestFinished(() => nginx.stop())
    served.length = 0
    return { url: nginx.url, served }
  },
}

async function http2To(url: string): Promise<ClientHttp2Session> {
  const session = connect(url)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  await until('the settings are known', () => session.remoteSettings?.enableConnectProtocol)
  return session
}

const WEB_SOCKET = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/chat', 'sec-websocket-version': '13' }

/** Asks for a WebSocket over HTTP/2, with bytes that do not wait for the answer. */
function openSocket(session: ClientHttp2Session, early: string, fields = {}) {
  const stream = session.request({ ...WEB_SOCKET, ...fields })
  const heard = { status: 0, text: '', stream }
  stream.on('error', () => {})
  stream.on('response', (headers) => {
    heard.status = Number(headers[':status'])
  })
  stream.on('data', (data) => {
    heard.text += data
  })
  if (early !== '') stream.write(early)
  return heard
}

/** Makes a proper request after an attack, and resolves when it is answered. */
function get(session: ClientHttp2Session, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path })
    stream.on('response', (headers) => resolve(Number(headers[':status'])))
    stream.on('error', reject)
    stream.resume()
  })
}

/** Resolves when the gateway has read all that was sent before. */
const ping = (session: ClientHttp2Session): Promise<void> =>
  new Promise((resolve, reject) => session.ping((error) => (error === null ? resolve() : reject(error))))

describe('bytes that come before a WebSocket is accepted', () => {
  it.each(Object.keys(UPSTREAMS))('are no requests to %s: HTTP/2', async (name) => {
    const { url: app, served } = await (UPSTREAMS[name] as () => Promise<Upstream>)()
    const gate = new RecordingGate()
    const { url } = await startGateway(app, { gate })
    const session = await http2To(url)
    const asked = Array.from({ length: 10 }, () => openSocket(session, SMUGGLED.repeat(20)))
    await until('they are answered', () => asked.every(({ status }) => status > 0))
    expect(await get(session, '/after')).toBe(200)
    expect(served).toEqual([...Array.from({ length: 10 }, () => 'GET /chat'), 'GET /after'])
    expect(gate.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(served)
  })

  it.each(Object.keys(UPSTREAMS))('are requests like any other to %s: HTTP/1.1', async (name) => {
    const { url: app, served } = await (UPSTREAMS[name] as () => Promise<Upstream>)()
    const gate = new RecordingGate()
    const { port } = await startGateway(app, { gate })
    const last = `GET /last HTTP/1.1\r\n${H}Connection: close\r\n\r\n`
    const answers = await exchangeBytes(port, `${UPGRADE}${SMUGGLED.repeat(3)}${last}`)
    expect(answers.split('HTTP/1.1 200 OK').length - 1).toBe(5)
    expect(served).toEqual(['GET /chat', 'POST /login', 'POST /login', 'POST /login', 'GET /last'])
    expect(gate.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(served)
  })

  /** An upstream that shows what it gets, byte for byte, and answers when it is asked to. */
  async function scene(answer: (key: string) => string) {
    const seen = { text: '', connections: 0, closed: 0 }
    let socket: Socket | undefined
    const app = await startRaw((opened) => {
      socket = opened
      seen.connections++
      opened.on('data', (data: Buffer) => {
        seen.text += data.toString('latin1')
      })
      opened.on('end', () => opened.end())
      opened.on('close', () => seen.closed++)
    })
    const gateway = await startGateway(app)
    const reply = async (): Promise<void> => {
      await until('the head is there', () => seen.text.includes('\r\n\r\n'))
      const key = /sec-websocket-key: (.*)\r\n/i.exec(seen.text)?.[1] as string
      socket?.write(answer(key))
    }
    return { seen, reply, ...gateway }
  }

  const switching = (key: string): string =>
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`

  it('wait for the upstream, and arrive once it has switched: HTTP/2', async () => {
    const { seen, reply, url } = await scene(switching)
    const session = await http2To(url)
    const heard = openSocket(session, 'early')
    await until('the head is there', () => seen.text.includes('\r\n\r\n'))
    heard.stream.write(', later')
    await ping(session)
    expect(seen.text).toMatch(/\r\n\r\n$/)
    await reply()
    await until('the bytes arrive', () => seen.text.endsWith('\r\n\r\nearly, later'))
    expect(heard.status).toBe(200)
  })

  it('wait, with the end behind them: HTTP/2', async () => {
    const { seen, reply, url } = await scene(switching)
    const heard = openSocket(await http2To(url), '')
    heard.stream.end('all')
    await reply()
    await until('the bytes and the end arrive', () => seen.text.endsWith('\r\n\r\nall') && seen.closed === 1)
    await until('it has ended', () => heard.stream.closed)
  })

  it.each([200, 204, 302, 400, 403, 426, 500])('are forgotten when the upstream answers %i: HTTP/2', async (status) => {
    const body = status === 204 ? '' : 'Content-Length: 2\r\n\r\nno'
    const { seen, reply, url } = await scene(() => `HTTP/1.1 ${status} X\r\n${body === '' ? '\r\n' : body}`)
    const session = await http2To(url)
    const heard = openSocket(session, SMUGGLED)
    await ping(session)
    await reply()
    await until('it is answered', () => heard.status > 0)
    await until('the connection is not used again', () => seen.closed === 1)
    expect(seen.text).toMatch(/^GET \/chat HTTP\/1\.1\r\n(?:[^\r\n]+\r\n)+\r\n$/)
    // Over HTTP/2, a status of 2xx would say that the WebSocket is open.
    expect(heard.status).toBe(status < 300 ? 502 : status)
  })

  it('wait within a bound, whatever their number: HTTP/2', async () => {
    const { seen, reply, url, gateway } = await scene(switching)
    const session = await http2To(url)
    const heard = openSocket(session, '')
    const piece = Buffer.alloc(65_536, 'x')
    for (let i = 0; i < 160; i++) heard.stream.write(piece)
    await until('the head is there', () => seen.text.includes('\r\n\r\n'))
    await ping(session)
    // No more than the window of the stream, and what HTTP/2 adds to it.
    expect(gateway.connectionsInFlight()[0]?.bytesRead).toBeLessThan(80_000)
    await reply()
    await until('all arrive', () => seen.text.length > 160 * 65_536)
  })

  it('are no tunnel when a 101 is no answer to this WebSocket', async () => {
    const wrong = [
      'Upgrade: websocket\r\nConnection: Upgrade\r\n',
      `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf('another')}\r\n`,
      `Upgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(KEY)}\r\n`,
      `Connection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(KEY)}\r\n`,
      `Upgrade: websocket\r\nSec-WebSocket-Accept: ${acceptOf(KEY)}\r\n`,
    ]
    for (const fields of wrong) {
      const { seen, reply, port } = await scene(() => `HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`)
      const talk = talkTo(port, UPGRADE + SMUGGLED)
      await reply()
      await until('the connection to the upstream ends', () => seen.closed >= 1)
      await until('it is answered', () => talk.text().includes('GATEWAY_UPSTREAM_INVALID'))
      expect([fields, talk.text().slice(0, 12)]).toEqual([fields, 'HTTP/1.1 502'])
      talk.socket.destroy()
    }
  })
})

describe('what is no WebSocket', () => {
  const fields = (text: string): string => `${H}Connection: Upgrade, close\r\n${text}`
  it.each<[what: string, bytes: string]>([
    ['another protocol', `GET / HTTP/1.1\r\n${fields('Upgrade: tcp\r\n')}\r\n`],
    ['h2c', `GET / HTTP/1.1\r\n${fields('Upgrade: h2c\r\nHTTP2-Settings: AA\r\n')}\r\n`],
    ['a body of a known length', `GET / HTTP/1.1\r\n${fields(`${SOCKET_FIELDS}Content-Length: 3\r\n`)}\r\nabc`],
    [
      'a body in chunks',
      `GET / HTTP/1.1\r\n${fields(`${SOCKET_FIELDS}Transfer-Encoding: chunked\r\n`)}\r\n3\r\nabc\r\n0\r\n\r\n`,
    ],
    ['a POST', `POST / HTTP/1.1\r\n${fields(`${SOCKET_FIELDS}Content-Length: 0\r\n`)}\r\n`],
    ['no key', `GET / HTTP/1.1\r\n${fields('Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n')}\r\n`],
    ['two keys', `GET / HTTP/1.1\r\n${fields(`${SOCKET_FIELDS}Sec-WebSocket-Key: ${KEY}\r\n`)}\r\n`],
    ['a key that is none', `GET / HTTP/1.1\r\n${fields('Upgrade: websocket\r\nSec-WebSocket-Key: abc\r\n')}\r\n`],
    ['no Connection', `GET / HTTP/1.1\r\n${H}Connection: close\r\n${SOCKET_FIELDS}\r\n`],
  ])('is passed on as a request: %s', async (_, bytes) => {
    const heads: string[] = []
    const app = await startApp(
      (request, response) => {
        heads.push(request.rawHeaders.join(' '))
        request.on('data', () => {}).on('end', () => response.end('served'))
      },
      (server) => server.on('upgrade', (_request, socket) => socket.destroy()),
    )
    const { port } = await startGateway(app)
    expect(await exchangeBytes(port, bytes)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*served/)
    expect(heads.join('').toLowerCase()).not.toContain('upgrade')
  })

  it.each<[what: string, fields: Record<string, string>, status: number]>([
    ['a length', { 'content-length': '3' }, 400],
    ['another protocol', { ':protocol': 'connect-udp' }, 405],
    ['a key that is none', { 'sec-websocket-key': 'abc' }, 400],
  ])('is refused on HTTP/2: %s', async (_, fields, status) => {
    const app = await startApp((_request, response) => response.end())
    const gate = new RecordingGate()
    const { url } = await startGateway(app, { gate })
    const heard = openSocket(await http2To(url), '', fields)
    await until('it is answered', () => heard.status > 0)
    expect([heard.status, gate.asked]).toEqual([status, []])
  })

  it('is one to an upstream of HTTP/2, which gets none of it', async () => {
    const seen: string[] = []
    const app = createServer()
    app.on('stream', (stream, headers) => {
      seen.push(`${headers[':method']} ${headers[':path']}`)
      stream.respond({ ':status': 200 }, { endStream: true })
    })
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void app.close())
    const { port } = app.address() as AddressInfo
    const { url } = await startGateway(`http://127.0.0.1:${port}`, { upstream: { http2: true } })
    const session = await http2To(url)
    const heard = openSocket(session, SMUGGLED)
    await until('it is answered', () => heard.status > 0)
    expect(await get(session, '/after')).toBe(200)
    expect([heard.status, seen]).toEqual([501, ['GET /after']])
  })
})
