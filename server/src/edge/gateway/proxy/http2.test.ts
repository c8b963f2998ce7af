import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../../../../tests/servers/until.mjs'
import { exchangeBytes, RecordingGate, SOCKET_FIELDS, startApp, startGateway, startRaw } from './gateway.suite.ts'

async function startHttp2App(
  taken: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => void,
): Promise<string> {
  const server = createServer()
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => sessions.add(session))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    taken(stream, headers)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function session(url: string): ClientHttp2Session {
  const made = connect(url)
  made.on('error', () => {})
  onTestFinished(() => made.destroy())
  return made
}

interface Heard {
  status: unknown
  headers: Record<string, unknown>
  body: string
  trailers: Record<string, unknown>
  interim: unknown[]
}

function hear(stream: ClientHttp2Stream): Promise<Heard> {
  const heard: Heard = { status: undefined, headers: {}, body: '', trailers: {}, interim: [] }
  stream.on('headers', (headers) => heard.interim.push(headers[':status']))
  stream.on('response', (headers) => {
    heard.status = headers[':status']
    heard.headers = headers
  })
  stream.on('data', (data) => (heard.body += data))
  stream.on('trailers', (headers) => (heard.trailers = headers))
  return new Promise((resolve, reject) => {
    stream.on('error', reject)
    stream.on('close', () => resolve(heard))
  })
}

describe('HTTP/2 from the client', () => {
  it('shares its port with HTTP/1.1, and reaches an upstream of HTTP/1.1', async () => {
    const app = await startApp((request, response) => {
      const { host, cookie, via } = request.headers
      response.setHeader('Set-Cookie', ['a=1', 'b=2'])
      request.resume().on('end', () => response.end(JSON.stringify({ host, cookie, via, url: request.url })))
    })
    const { url } = await startGateway(app)
    const client = session(url)
    const asked = client.request({
      ':path': '/x?y',
      ':authority': 'a.example',
      cookie: ['c=1', 'd=2'] as unknown as string,
    })
    const { status, body, headers } = await hear(asked)
    expect(status).toBe(200)
    expect(JSON.parse(body)).toEqual({ host: 'a.example', cookie: 'c=1; d=2', via: '2.0 sluice', url: '/x?y' })
    expect(headers['set-cookie']).toEqual(['a=1', 'b=2'])
    expect((await fetch(url)).status).toBe(200)
  })

  it('sends bodies and trailers to HTTP/1.1, and gets trailers and early hints from it', async () => {
    const app = await startApp((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () => {
        response.writeEarlyHints({ link: '</a>' })
        response.writeHead(200, { Trailer: 'X-Sum' })
        response.write(`${body} ${request.trailers['x-up']}`)
        response.addTrailers({ 'X-Sum': '7' })
        response.end()
      })
    })
    const { url } = await startGateway(app)
    const asked = session(url).request({ ':method': 'POST', ':path': '/' }, { waitForTrailers: true })
    asked.on('wantTrailers', () => asked.sendTrailers({ 'x-up': '3' }))
    asked.end('hello')
    const { body, trailers, interim } = await hear(asked)
    expect([body, trailers['x-sum'], interim]).toEqual(['hello 3', '7', [103]])
  })

  it.each<[what: string, headers: Record<string, string>, status: number]>([
    ['another Host than :authority', { ':authority': 'a.example', host: 'b.example' }, 400],
    ['a path that begins with two slashes', { ':path': '//evil' }, 400],
    ['a path with a fragment', { ':path': '/a#b' }, 400],
    ['a method in lower case', { ':method': 'get' }, 400],
    ['an authority with a user', { ':authority': 'me@a.example' }, 400],
  ])('with %s is refused', async (_, headers, status) => {
    const { url } = await startGateway('http://127.0.0.1:9')
    const heard = await hear(session(url).request({ ':path': '/', ...headers }, { endStream: true }))
    expect([heard.status, heard.body]).toEqual([status, expect.stringContaining('GATEWAY_REQUEST_INVALID')])
  })

  it('refuses CONNECT', async () => {
    const { url } = await startGateway('http://127.0.0.1:9')
    const asked = session(url).request({ ':method': 'CONNECT', ':authority': 'a.example:443' })
    asked.end()
    const heard = await hear(asked)
    expect(heard.status).toBe(405)
  })

  it('that resets its stream has the request given up at the upstream', async () => {
    const gate = new RecordingGate()
    let isGivenUp = false
    let hasCome = false
    const app = await startApp((request) => {
      hasCome = true
      request.on('close', () => (isGivenUp = true))
    })
    const { url } = await startGateway(app, { gate })
    const asked = session(url).request({ ':path': '/' })
    asked.on('error', () => {})
    await until('it has come', () => hasCome)
    asked.close(8)
    await until('it is given up', () => isGivenUp)
    expect(gate.ended).toEqual(['abort'])
  })

  it.each([
    ['NO_ERROR', 0],
    ['CANCEL', 8],
  ])('that resets its stream with %s while its body is not read has the request given up', async (_, code) => {
    const gate = new RecordingGate()
    const app = await startRaw((socket) => void socket.pause())
    const { url, gateway } = await startGateway(app, { gate, route: { maxBodyBytes: 2 ** 30 } })
    const stream = session(url).request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    const send = (): void => {
      while (stream.write(Buffer.alloc(65_536)));
    }
    stream.on('drain', send)
    send()
    let before = -1
    await until('the upstream takes no more', () => {
      const [{ phase, bodyBytes, isClientPaused } = { phase: 'done', bodyBytes: 0, isClientPaused: false }] =
        gateway.inFlight()
      const isFull = phase === 'send' && isClientPaused && bodyBytes === before
      before = bodyBytes
      return isFull
    })
    stream.close(code)
    await until('the request is over', () => gateway.stats.requests === 0)
    expect(gate.ended).toEqual(['abort'])
  })

  it('is notified of an answer that broke off', async () => {
    const app = await startApp((_, response) => {
      response.writeHead(200, { 'Content-Length': 10 })
      response.write('abc', () => response.destroy())
    })
    const { url } = await startGateway(app)
    await expect(hear(session(url).request({ ':path': '/' }))).rejects.toThrow()
  })

  it('is reset where an answer has fields that HTTP/2 does not send, and the gateway continues', async () => {
    const gate = {
      admit: () => ({ kind: 'refused' as const, status: 429, headers: ['connection', 'close'], body: 'no' }),
    }
    const { url } = await startGateway('http://127.0.0.1:9', { gate })
    await expect(hear(session(url).request({ ':path': '/' }))).rejects.toThrow()
    expect((await fetch(url)).status).toBe(429)
  })

  it('gets 1,100 fields through where the bound allows them', async () => {
    const app = await startApp(
      (request, response) =>
        response.end(`${Object.keys(request.headers).filter((name) => name.startsWith('x-n-')).length}`),
      (server) => {
        server.maxHeadersCount = 0
      },
    )
    const { url } = await startGateway(app, { bounds: { maxHeaders: 2_000 } })
    const fields = Object.fromEntries(Array.from({ length: 1_100 }, (_, i) => [`x-n-${i}`, '1']))
    expect((await hear(session(url).request({ ':path': '/', ...fields }))).body).toBe('1100')
  })

  it('does not read an answer faster than its client does', async () => {
    let written = 0
    const app = await startApp((_, response) => {
      const piece = Buffer.alloc(65_536)
      const more = (): void => {
        while (written < 256 * 1_048_576) {
          written += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
      }
      more()
    })
    const { url } = await startGateway(app)
    const asked = session(url).request({ ':path': '/' })
    asked.on('error', () => {})
    asked.pause()
    let before = -1
    await until('the upstream has to wait', () => {
      const rests = written > 0 && written === before
      before = written
      return rests
    })
    expect(written).toBeLessThan(64 * 1_048_576)
    asked.close(8)
  })
})

describe('HTTP/2 to the upstream', () => {
  it('passes a call of gRPC through, with its metadata, messages and trailers', async () => {
    const app = await startHttp2App((stream, headers) => {
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'x-te': String(headers.te) },
        { waitForTrailers: true },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }))
      stream.pipe(stream)
    })
    const gate = new RecordingGate()
    const { url } = await startGateway(app, { gate, upstream: { http2: true } })
    const head = {
      ':method': 'POST',
      ':path': '/pkg.Service/Method',
      'content-type': 'application/grpc',
      te: 'trailers',
    }
    const asked = session(url).request(head)
    asked.write('ping')
    setImmediate(() => asked.end('pong'))
    const { body, trailers, headers } = await hear(asked)
    expect([body, trailers['grpc-status'], trailers['grpc-message'], headers['x-te']]).toEqual([
      'pingpong',
      '0',
      'fine',
      'trailers',
    ])
    expect(gate.ended).toEqual(['finish'])
  })

  it('passes an answer of trailers only', async () => {
    const app = await startHttp2App((stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5' }, { endStream: true })
    })
    const { url } = await startGateway(app, { upstream: { http2: true } })
    const asked = session(url).request({ ':method': 'POST', ':path': '/s/m', 'content-type': 'application/grpc' })
    asked.end('x')
    expect((await hear(asked)).headers).toMatchObject({ ':status': 200, 'grpc-status': '5' })
  })

  it('streams in both directions at the same time', async () => {
    const app = await startHttp2App((stream) => {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    })
    const { url } = await startGateway(app, { upstream: { http2: true } })
    const asked = session(url).request({ ':method': 'POST', ':path': '/' })
    let heard = ''
    asked.on('data', (data) => (heard += data))
    for (const text of ['one', 'two', 'three']) {
      asked.write(text)
      await until(`${text} is back`, () => heard.endsWith(text))
    }
    asked.end()
    await new Promise((resolve) => asked.on('close', resolve))
    expect(heard).toBe('onetwothree')
  })

  it('serves clients of HTTP/1.1 too', async () => {
    const app = await startHttp2App((stream, headers) => {
      stream.respond({ ':status': 201, 'x-path': String(headers[':path']) })
      stream.pipe(stream)
    })
    const { url } = await startGateway(app, { upstream: { http2: true } })
    const response = await fetch(`${url}/a`, { method: 'POST', body: 'hello' })
    expect([response.status, response.headers.get('x-path'), await response.text()]).toEqual([201, '/a', 'hello'])
  })

  it('answers a gRPC client in its protocol with what went wrong', async () => {
    const { url } = await startGateway('http://127.0.0.1:9', { upstream: { http2: true }, route: { retries: 0 } })
    const asked = session(url).request({ ':method': 'POST', ':path': '/s/m', 'content-type': 'application/grpc' })
    asked.end()
    const { status, headers } = await hear(asked)
    expect([status, headers['grpc-status'], headers['content-type']]).toEqual([200, '14', 'application/grpc'])
    expect(decodeURIComponent(String(headers['grpc-message']))).toContain('GATEWAY_UPSTREAM_FAILED')
  })

  it('tries a stream again that the upstream refused', async () => {
    let streams = 0
    const app = await startHttp2App((stream) => {
      if (++streams === 1) return stream.close(7)
      stream.respond({ ':status': 200 })
      stream.end('second')
    })
    const { url } = await startGateway(app, { upstream: { http2: true } })
    expect(await (await fetch(url)).text()).toBe('second')
  })

  it('gives a stream up when its client leaves', async () => {
    let code: number | undefined
    let hasCome = false
    const app = await startHttp2App((stream) => {
      hasCome = true
      stream.on('close', () => (code = stream.rstCode))
    })
    const { url } = await startGateway(app, { upstream: { http2: true } })
    const asked = session(url).request({ ':path': '/' })
    asked.on('error', () => {})
    await until('it has come', () => hasCome)
    asked.close(8)
    await until('it is given up', () => code !== undefined)
    expect(code).toBe(8)
  })

  it('is a 501 for WebSockets', async () => {
    const app = await startHttp2App((stream) => stream.respond({ ':status': 200 }, { endStream: true }))
    const { port } = await startGateway(app, { upstream: { http2: true } })
    const answer = await exchangeBytes(port, `GET / HTTP/1.1\r\nHost: a\r\n${SOCKET_FIELDS}Connection: close\r\n\r\n`)
    expect(answer).toContain('GATEWAY_UPGRADE_UNSUPPORTED')
  })
})
