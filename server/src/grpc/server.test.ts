import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type SecureClientSessionOptions } from 'node:http2'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeCertificates } from '../../../tests/servers/certificates.mjs'
import { until } from '../../../tests/servers/until.mjs'
import type { UnaryCall } from './call.ts'
import { call, message, preface, settings, windowUpdate } from './frame-script.suite.ts'
import { GrpcServer, type GrpcServerOptions } from './server.ts'

const ECHO = '/test.Test/Echo'
const HOLD = '/test.Test/Hold'
const WHO = '/test.Test/Who'

let dir: string
let pem: (name: string) => Buffer
const closers: (() => unknown)[] = []

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-grpc-'))
  pem = (name) => readFileSync(join(dir, name))
  await makeCertificates(dir)
})

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

afterAll(() => rmSync(dir, { recursive: true }))

/** A server on real sockets that is closed with the test. */
function started(options: GrpcServerOptions = {}) {
  const server = new GrpcServer(options)
  const held: UnaryCall[] = []
  server.unary(ECHO, (call) => call.respond(call.message))
  server.unary(HOLD, (call) => void held.push(call))
  server.unary(WHO, (call) => call.respond(Buffer.from(JSON.stringify(call.peer))))
  closers.push(() => server.close())
  return { server, held }
}

async function tcp(server: GrpcServer): Promise<number> {
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  if (!('port' in address)) throw new Error('no port')
  return address.port
}

/** Has the server accept what comes to a port that is not its own, as a worker does. */
async function handedOver(server: GrpcServer): Promise<number> {
  const port = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => server.accept(socket))
  closers.push(() => port.close())
  await new Promise<void>((resolve) => port.listen(0, '127.0.0.1', resolve))
  return (port.address() as AddressInfo).port
}

function session(authority: string, options: SecureClientSessionOptions = {}): ClientHttp2Session {
  const client = connect(authority, options)
  client.on('error', () => {})
  closers.push(() => client.destroy())
  return client
}

interface Answer {
  readonly status: string
  readonly text: string
}

function open(client: ClientHttp2Session, path: string, text: string): ClientHttp2Stream {
  const stream = client.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.end(message(text))
  return stream
}

/** Resolves to what a call is answered, and rejects where its stream breaks. */
function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let status = ''
    stream.on('response', (fields) => {
      status = String(fields['grpc-status'] ?? status)
    })
    stream.on('trailers', (fields) => {
      status = String(fields['grpc-status'])
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => resolve({ status, text: Buffer.concat(chunks).subarray(5).toString() }))
    stream.on('error', reject)
  })
}

const ask = (client: ClientHttp2Session, path: string, text = ''): Promise<Answer> => answerOf(open(client, path, text))

describe('over TCP', () => {
  it('a call is answered, on every port that the server listens on', async () => {
    const { server } = started()
    for (const port of [await tcp(server), await tcp(server)]) {
      expect(await ask(session(`http://127.0.0.1:${port}`), ECHO, 'hi')).toEqual({ status: '0', text: 'hi' })
    }
    expect(server.stats).toMatchObject({ connections: 2, calls: 2, streams: 2 })
  })

  it('a handler sees the address of its client, and no certificate', async () => {
    const { server } = started()
    const { text } = await ask(session(`http://127.0.0.1:${await tcp(server)}`), WHO)
    expect(JSON.parse(text)).toEqual({ address: '127.0.0.1', port: expect.any(Number), encrypted: false })
  })

  it('a thousand calls at the same time are answered, each with its own answer', async () => {
    const { server } = started()
    const client = session(`http://127.0.0.1:${await tcp(server)}`)
    await ask(client, ECHO)
    const texts = Array.from({ length: 1_000 }, (_, i) => `${i}`.repeat(1 + (i % 50)))
    const answers = await Promise.all(texts.map((text) => ask(client, ECHO, text)))
    expect(answers).toEqual(texts.map((text) => ({ status: '0', text })))
  })

  it('answers far above every window arrive whole', async () => {
    const { server } = started()
    server.serverStreaming('/test.Test/Stream', (call) => {
      let left = 500
      const write = (): void => {
        while (left-- > 0) if (!call.write(Buffer.alloc(10_000, 'x'))) return
        call.end()
      }
      call.onDrain(write)
      write()
    })
    const client = session(`http://127.0.0.1:${await tcp(server)}`)
    const { status, text } = await ask(client, '/test.Test/Stream')
    expect([status, text.length]).toEqual(['0', 500 * 10_005 - 5])
  })

  it('a port that is taken is refused with the reason', async () => {
    const { server } = started()
    const port = await tcp(server)
    await expect(server.listen({ host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  it('connections above the limit are closed', async () => {
    const { server } = started({ limits: { maxConnections: 1 } })
    const port = await tcp(server)
    await ask(session(`http://127.0.0.1:${port}`), ECHO)
    const socket = connectSocket(port, '127.0.0.1')
    socket.on('error', () => {})
    await new Promise((resolve) => socket.on('close', resolve))
    expect(server.stats.connectionsRefused).toBe(1)
  })

  it('a connection that was accepted elsewhere is served', async () => {
    const { server } = started()
    const acceptor = createServer((socket) => server.addConnection(socket))
    await new Promise<void>((resolve) => acceptor.listen(0, '127.0.0.1', resolve))
    closers.push(() => acceptor.close())
    const address = acceptor.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await ask(session(`http://127.0.0.1:${port}`), ECHO, 'a')).toEqual({ status: '0', text: 'a' })
  })
})

describe('over a Unix socket', () => {
  const throughSocket = (path: string): ClientHttp2Session =>
    session('http://localhost', { createConnection: () => connectSocket(path) })

  it('a call is answered, and the file goes with the server', async () => {
    const { server } = started()
    const path = join(dir, 'a.sock')
    expect(await server.listen({ path })).toEqual({ path })
    expect(await ask(throughSocket(path), ECHO, 'hi')).toEqual({ status: '0', text: 'hi' })
    expect(JSON.parse((await ask(throughSocket(path), WHO)).text)).toEqual({ address: '', port: 0, encrypted: false })
    await server.close()
    expect(existsSync(path)).toBe(false)
  })

  it('a file that a dead process left behind is replaced', async () => {
    const { server } = started()
    const path = join(dir, 'stale.sock')
    await leaveSocketBehind(path)
    expect(existsSync(path)).toBe(true)
    await server.listen({ path })
    expect(await ask(throughSocket(path), ECHO, 'hi')).toEqual({ status: '0', text: 'hi' })
  })

  it('a file that a living process listens on is left alone', async () => {
    const { server } = started()
    const path = join(dir, 'live.sock')
    await server.listen({ path })
    const other = started().server
    await expect(other.listen({ path })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    expect(await ask(throughSocket(path), ECHO, 'hi')).toEqual({ status: '0', text: 'hi' })
  })

  it('a file that is no socket is left alone', async () => {
    const path = join(dir, 'notes.txt')
    writeFileSync(path, 'notes')
    await expect(started().server.listen({ path })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    expect(readFileSync(path, 'utf8')).toBe('notes')
  })

  it('TLS is not spoken, even if TCP ports do', async () => {
    const { server } = started({ tls: { key: pem('server.key'), cert: pem('server.crt') } })
    const path = join(dir, 'plain.sock')
    await server.listen({ path })
    expect(await ask(throughSocket(path), ECHO, 'hi')).toEqual({ status: '0', text: 'hi' })
  })
})

/** Kills a process that listens on a Unix socket, so that nobody removes its file. */
async function leaveSocketBehind(path: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
}

describe('over TLS', () => {
  const serverTls = () => ({ key: pem('server.key'), cert: pem('server.crt') })
  const mutual = () => ({ ...serverTls(), ca: pem('ca.crt'), requestCert: true })
  const clientTls = () => ({ ca: pem('ca.crt'), key: pem('client.key'), cert: pem('client.crt') })

  it('a call is answered', async () => {
    const { server } = started({ tls: serverTls() })
    const client = session(`https://localhost:${await tcp(server)}`, { ca: pem('ca.crt') })
    expect(await ask(client, ECHO, 'hi')).toEqual({ status: '0', text: 'hi' })
    const { text } = await ask(client, WHO)
    expect(JSON.parse(text)).toMatchObject({ encrypted: true })
  })

  it('a thousand calls at the same time are answered', async () => {
    const { server } = started({ tls: serverTls() })
    const client = session(`https://localhost:${await tcp(server)}`, { ca: pem('ca.crt') })
    await ask(client, ECHO)
    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, i) => ask(client, ECHO, `${i}`)))
    expect(answers.map(({ text }) => Number(text))).toEqual(answers.map((_, i) => i))
  })

  it('a handler sees the certificate of its client', async () => {
    const { server } = started({ tls: mutual() })
    const { text } = await ask(session(`https://localhost:${await tcp(server)}`, clientTls()), WHO)
    expect(JSON.parse(text).identity).toEqual({
      authorized: true,
      commonName: 'sluice test client',
      subjectAltName: 'IP Address:127.0.0.1, DNS:localhost',
      fingerprint256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
    })
  })

  it('a client without a certificate is turned away where one is required', async () => {
    const { server } = started({ tls: mutual() })
    const client = session(`https://localhost:${await tcp(server)}`, { ca: pem('ca.crt') })
    await expect(ask(client, ECHO)).rejects.toThrow()
    await until('the handshake fails', () => server.stats.tlsFailures === 1)
    expect(server.stats.connections).toBe(0)
  })

  it('a client without a certificate is served where none is required, and has no identity', async () => {
    const { server } = started({ tls: { ...mutual(), rejectUnauthorized: false } })
    const client = session(`https://localhost:${await tcp(server)}`, { ca: pem('ca.crt') })
    expect(JSON.parse((await ask(client, WHO)).text)).not.toHaveProperty('identity')
  })

  it.each([
    ['does not ask for h2', undefined],
    ['asks for another protocol', ['http/1.1']],
  ])('a client that %s is turned away', async (_name, protocols) => {
    const { server } = started({ tls: serverTls() })
    const port = await tcp(server)
    const options = protocols === undefined ? {} : { ALPNProtocols: protocols }
    const socket = connectTls({ port, host: 'localhost', ca: pem('ca.crt'), ...options })
    socket.on('error', () => {})
    await new Promise((resolve) => socket.on('close', resolve))
    await until('the handshake fails', () => server.stats.tlsFailures === 1)
    expect(server.stats.connections).toBe(0)
  })

  it('a client of TLS 1.1 is turned away', async () => {
    const { server } = started({ tls: serverTls() })
    const versions = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    const socket = connectTls({ port: await tcp(server), host: 'localhost', ca: pem('ca.crt'), ...versions })
    const error = await new Promise<Error>((resolve) => socket.on('error', resolve))
    expect(error.message).toMatch(/version|protocol/)
  })

  it('a new certificate is shown to new connections', async () => {
    const { server } = started({ tls: serverTls() })
    const port = await tcp(server)
    const nameAt = async (): Promise<unknown> => {
      const client = session(`https://localhost:${port}`, { ca: pem('ca.crt') })
      await ask(client, ECHO)
      return (client.socket as TLSSocket).getPeerCertificate().subject.CN
    }
    expect(await nameAt()).toBe('sluice test server')
    server.setTls({ key: pem('client.key'), cert: pem('client.crt') })
    expect(await nameAt()).toBe('sluice test client')
  })

  it('a server without a certificate cannot be given one later', () => {
    expect(() => started().server.setTls(serverTls())).toThrow('the server has no TLS')
  })

  it('a connection counts once, in its handshake and afterwards', async () => {
    const { server } = started({ tls: serverTls(), limits: { maxConnections: 2 } })
    const port = await tcp(server)
    for (let i = 0; i < 2; i++) await ask(session(`https://localhost:${port}`, { ca: pem('ca.crt') }), ECHO)
    expect(server.stats).toMatchObject({ connectionsOpen: 2, connectionsRefused: 0 })
  })

  describe.each([
    ['its own', tcp],
    ['handed over by another process', handedOver],
  ])('connections that are %s', (_whose, open) => {
    it.each([
      ['leaves', (socket: Socket) => socket.destroy()],
      ['closes its end', (socket: Socket) => socket.end()],
      [
        'leaves in the middle of a message',
        (socket: Socket) => socket.write(Buffer.of(22, 3, 1), () => socket.destroy()),
      ],
      ['sends something else', (socket: Socket) => socket.write('GET / HTTP/1.1\r\n\r\n')],
      ['does not trust us', (socket: Socket) => connectTls({ socket, ALPNProtocols: ['h2'] }).on('error', () => {})],
      ['sends nothing for too long', () => {}, 500],
    ])('a client that %s in a handshake gives up its place', async (_name, act, prefaceTimeoutMs = 3_600_000) => {
      const { server } = started({ tls: serverTls(), limits: { maxConnections: 1, prefaceTimeoutMs } })
      const port = await open(server)
      const socket = connectSocket(port, '127.0.0.1', () => act(socket))
      socket.on('error', () => {})
      closers.push(() => socket.destroy())
      const served = async (): Promise<boolean> => {
        const client = session(`https://localhost:${port}`, { ca: pem('ca.crt') })
        return (await ask(client, ECHO, 'a')).text === 'a'
      }
      await until('the next client is served', served)
    })
  })

  it('connections in a handshake count, and end with the server', async () => {
    const { server } = started({ tls: serverTls(), limits: { maxConnections: 1 } })
    const port = await tcp(server)
    const closed = (socket: ReturnType<typeof connectSocket>): Promise<unknown> => {
      socket.on('error', () => {})
      return new Promise((resolve) => socket.on('close', resolve))
    }
    const first = connectSocket(port, '127.0.0.1')
    const firstClosed = closed(first)
    await new Promise((resolve) => first.on('connect', resolve))
    await closed(connectSocket(port, '127.0.0.1'))
    expect(server.stats.connectionsRefused).toBe(1)
    await server.close()
    await firstClosed
  })
})

describe('drain', () => {
  it('answers calls that are in flight, refuses connections and then ends', async () => {
    const { server, held } = started()
    const port = await tcp(server)
    const client = session(`http://127.0.0.1:${port}`)
    const answer = ask(client, HOLD)
    await until('the call is held', () => held.length === 1)
    const goaway = new Promise((resolve) => client.on('goaway', resolve))
    const drained = server.drain(60_000)
    await goaway
    const refusal = await new Promise<NodeJS.ErrnoException>((resolve) => {
      connectSocket(port, '127.0.0.1').on('error', resolve)
    })
    expect(refusal.code).toBe('ECONNREFUSED')
    held[0].respond(Buffer.from('late'))
    expect(await answer).toEqual({ status: '0', text: 'late' })
    await drained
    expect(server.stats).toMatchObject({ connectionsOpen: 0, streamsOpen: 0 })
  })

  it('answers calls over TLS that are in flight', async () => {
    const { server, held } = started({ tls: { key: pem('server.key'), cert: pem('server.crt') } })
    const client = session(`https://localhost:${await tcp(server)}`, { ca: pem('ca.crt') })
    const answer = ask(client, HOLD)
    await until('the call is held', () => held.length === 1)
    const goaway = new Promise((resolve) => client.on('goaway', resolve))
    const drained = server.drain(60_000)
    await goaway
    held[0].respond(Buffer.from('late'))
    expect(await answer).toEqual({ status: '0', text: 'late' })
    await drained
  })

  it('ends immediately without connections', async () => {
    const { server } = started()
    await tcp(server)
    await server.drain(60_000)
  })

  it('ends idle connections without waiting for the grace', async () => {
    const { server } = started()
    const client = session(`http://127.0.0.1:${await tcp(server)}`)
    await ask(client, ECHO)
    await server.drain(60_000)
    expect(server.stats.connectionsOpen).toBe(0)
  })

  it('cancels calls that are not answered in time', async () => {
    const { server, held } = started()
    const client = session(`http://127.0.0.1:${await tcp(server)}`)
    const answer = ask(client, HOLD)
    answer.catch(() => {})
    await until('the call is held', () => held.length === 1)
    await server.drain(1)
    expect(held[0].cancelled).toBe(true)
  })

  it('takes no connection and no address afterwards', async () => {
    const { server } = started()
    await server.drain(1)
    await expect(tcp(server)).rejects.toThrow('the server is closed; create a new one')
  })
})

describe('close', () => {
  it('cancels calls and ends connections', async () => {
    const { server, held } = started()
    const client = session(`http://127.0.0.1:${await tcp(server)}`)
    const answer = ask(client, HOLD)
    answer.catch(() => {})
    await until('the call is held', () => held.length === 1)
    await server.close()
    expect(held[0].cancelled).toBe(true)
    expect(server.stats.connectionsOpen).toBe(0)
  })

  it('does not wait for a client that does not read', async () => {
    const { server } = started()
    server.serverStreaming('/test.Test/Endless', (call) => {
      const write = (): void => {
        while (call.write(Buffer.alloc(50_000)));
      }
      call.onDrain(write)
      write()
    })
    const socket = connectSocket(await tcp(server), '127.0.0.1')
    socket.on('error', () => {})
    closers.push(() => socket.destroy())
    const window = 0x7fff_0000
    socket.write(preface)
    socket.write(Buffer.concat([settings([4, window]), windowUpdate(0, window), call(1, '/test.Test/Endless')]))
    await until('the socket is full', () => server.stats.bytesWritten > 1_000_000)
    await server.close()
    expect(server.stats.connectionsOpen).toBe(0)
  })
})
