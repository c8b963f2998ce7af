import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { requireCommand } from '../../scripts/system-packages.mjs'
import { makeCertificates } from '../servers/certificates.mjs'
import { until } from '../servers/until.mjs'
import { decodeEcho, encodeEcho } from './echo-message.ts'
import { ECHO, type EchoServer, startEcho } from './echo-server.ts'
import { prefixed } from './wire.ts'

// Our server, called by node:http2, curl and h2load: clients of HTTP/2 that know nothing of gRPC.

const execute = promisify(execFile)
const request = prefixed(encodeEcho({ text: 'hello', count: 7 }))

/** Waits for the end of a socket, however it comes about. */
const closed = (socket: net.Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))

let server: EchoServer
let dir: string
beforeAll(async () => {
  server = await startEcho()
  dir = mkdtempSync(join(tmpdir(), 'sluice-grpc-'))
  writeFileSync(join(dir, 'request'), request)
})
afterAll(async () => {
  await server.close()
  rmSync(dir, { recursive: true })
})

describe('node:http2', () => {
  const sessions: http2.ClientHttp2Session[] = []
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy()
  })

  function connect(options: http2.ClientSessionOptions = {}): http2.ClientHttp2Session {
    const session = http2.connect(`http://${server.address}`, options)
    session.on('error', () => {})
    sessions.push(session)
    return session
  }

  interface Reply {
    readonly headers: http2.IncomingHttpHeaders
    readonly trailers: http2.IncomingHttpHeaders
    readonly body: Buffer
  }

  async function call(
    session: http2.ClientHttp2Session,
    path: string,
    body: Buffer = request,
    more = {},
  ): Promise<Reply> {
    const fields = { ':method': 'POST', ':path': path, te: 'trailers', 'content-type': 'application/grpc', ...more }
    const stream = session.request(fields, { endStream: body.length === 0 })
    let [headers, trailers]: http2.IncomingHttpHeaders[] = [{}, {}]
    stream.on('response', (received) => {
      headers = received
    })
    stream.on('trailers', (received) => {
      trailers = received
    })
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    if (body.length > 0) stream.end(body)
    await once(stream, 'close')
    return { headers, trailers, body: Buffer.concat(chunks) }
  }

  it('gets headers, the message and trailers', async () => {
    const { headers, trailers, body } = await call(connect(), ECHO.unary)
    expect(headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc' })
    expect(trailers['grpc-status']).toBe('0')
    expect(decodeEcho(body.subarray(5))).toEqual({ text: 'hello', count: 7 })
  })

  it('gets an error as headers alone', async () => {
    const { headers, trailers } = await call(connect(), '/no.Such/Method')
    expect(headers).toMatchObject({ ':status': 200, 'grpc-status': '12' })
    expect(trailers).toEqual({})
  })

  it.each([0, 100, 4096, 65_536])(
    'reads header blocks with a table of %i bytes, and so do we',
    async (headerTableSize) => {
      const session = connect({ settings: { headerTableSize } })
      for (let n = 0; n < 30; n++) {
        const fields = { 'x-echo': `value ${n % 7}`, [`x-other-${n % 5}`]: 'y'.repeat(n * 10) }
        const { headers, trailers } = await call(session, ECHO.unary, request, fields)
        expect([headers['x-echo'], trailers['x-echo']]).toEqual([fields['x-echo'], fields['x-echo']])
      }
    },
  )

  it('gets an answer through the smallest windows', async () => {
    const session = connect({ settings: { initialWindowSize: 1 } })
    const { body, trailers } = await call(session, ECHO.unary)
    expect(body.equals(request)).toBe(true)
    expect(trailers['grpc-status']).toBe('0')
  })

  it('may change its settings at any time', async () => {
    const session = connect()
    for (const initialWindowSize of [0, 10, 100_000, 65_535]) {
      const pending = call(session, ECHO.unary)
      session.settings({ initialWindowSize, headerTableSize: initialWindowSize % 5_000 })
      if (initialWindowSize === 0) session.settings({ initialWindowSize: 1_000 })
      expect((await pending).trailers['grpc-status']).toBe('0')
    }
  })

  it('gets its pings back', async () => {
    const session = connect()
    await once(session, 'remoteSettings')
    const payload = Buffer.from('12345678')
    const back = await new Promise<Buffer>((resolve, reject) => {
      session.ping(payload, (error, _duration, answer) => (error ? reject(error) : resolve(answer)))
    })
    expect(back).toEqual(payload)
  })

  it('gets an HTTP status for what is no call', async () => {
    const session = connect()
    const plain = await call(session, ECHO.unary, request, { 'content-type': 'application/json' })
    expect(plain.headers[':status']).toBe(415)
    const get = await call(session, ECHO.unary, Buffer.alloc(0), { ':method': 'GET' })
    expect(get.headers[':status']).toBeGreaterThanOrEqual(400)
    expect((await call(session, ECHO.unary)).trailers['grpc-status']).toBe('0')
  })

  it('asks over TLS for h2 and gets it; without h2 there is no connection', async () => {
    await makeCertificates(dir)
    const pem = (name: string) => readFileSync(join(dir, name))
    const secure = await startEcho({ tls: { cert: pem('server.crt'), key: pem('server.key') } })
    const session = http2.connect(`https://${secure.address}`, { ca: pem('ca.crt') })
    sessions.push(session)
    expect((await call(session, ECHO.unary)).trailers['grpc-status']).toBe('0')
    expect(session.alpnProtocol).toBe('h2')

    const [host, port] = secure.address.split(':')
    const other = tls.connect({ host, port: Number(port), ca: pem('ca.crt'), ALPNProtocols: ['http/1.1'] })
    other.on('error', () => {})
    await closed(other)
    await until('it was counted', () => secure.stats.tlsFailures === 1)
    session.destroy()
    await secure.close()
  })
})

describe('curl', () => {
  const curl = async (...args: string[]) => {
    const options = ['--silent', '--http2-prior-knowledge', '--max-time', '10', ...args]
    return (await execute(requireCommand('curl'), options, { encoding: 'buffer' })).stdout
  }

  it('makes a call', async () => {
    const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers']
    const head = join(dir, 'head')
    const body = await curl(
      ...headers,
      '--data-binary',
      `@${join(dir, 'request')}`,
      '-D',
      head,
      `http://${server.address}${ECHO.unary}`,
    )
    expect(body.equals(request)).toBe(true)
    expect(readFileSync(head, 'utf8')).toContain('grpc-status: 0')
  })

  it('that asks for a page gets 404', async () => {
    const text = (await curl('-i', `http://${server.address}/`)).toString()
    expect(text).toMatch(/^HTTP\/2 4\d\d/)
  })

  it('that speaks HTTP/1.1 is not left waiting', async () => {
    await expect(
      execute(requireCommand('curl'), ['--silent', '--http1.1', '--max-time', '10', `http://${server.address}/`]),
    ).rejects.toMatchObject({ code: expect.not.stringMatching('28') })
  })

  it('and anything else that is no HTTP/2 is hung up on', async () => {
    const [host, port] = server.address.split(':')
    const socket = net.connect(Number(port), host)
    socket.on('error', () => {})
    socket.resume()
    socket.write('EHLO example.com\r\n')
    await closed(socket)
  })
})

describe('h2load', () => {
  it.each([
    [1, 1, 500],
    [1, 100, 10_000],
    [10, 32, 10_000],
  ])('gets every answer over %i connections with %i calls on each', async (connections, streams, calls) => {
    const before = server.stats.calls
    const headers = ['-H', 'content-type: application/grpc', '-H', 'te: trailers']
    const shape = ['-c', `${connections}`, '-m', `${streams}`, '-n', `${calls}`, '-d', join(dir, 'request')]
    const url = `http://${server.address}${ECHO.unary}`
    const { stdout } = await execute(requireCommand('h2load'), [...shape, ...headers, url])
    expect(stdout).toContain(
      `${calls} total, ${calls} started, ${calls} done, ${calls} succeeded, 0 failed, 0 errored, 0 timeout`,
    )
    expect(server.stats.calls - before).toBe(calls)
    await until('the connections are gone', () => server.stats.streamsOpen === 0)
  })
})
