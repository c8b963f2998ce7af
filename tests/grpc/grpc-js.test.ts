import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as grpc from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../server/src/net/manual-clock.suite.ts'
import { makeCertificates } from '../servers/certificates.mjs'
import { startProxy } from '../servers/proxy.mjs'
import { until } from '../servers/until.mjs'
import { EchoClient, statusOf } from './echo-client.ts'
import type { EchoMessage } from './echo-message.ts'
import { ECHO, type EchoServer, startEcho } from './echo-server.ts'

// Our server, called by @grpc/grpc-js.

let server: EchoServer
let client: EchoClient
const closing: (() => unknown)[] = []

beforeAll(async () => {
  server = await startEcho()
  client = new EchoClient(server.address)
})
afterAll(async () => {
  client.close()
  await server.close()
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Starts a server of its own for a test. */
async function started(options?: Parameters<typeof startEcho>[0]): Promise<EchoServer> {
  const own = await startEcho(options)
  closing.push(() => own.close())
  return own
}

function connected(...parameters: ConstructorParameters<typeof EchoClient>): EchoClient {
  const own = new EchoClient(...parameters)
  closing.push(() => own.close())
  return own
}

function metadataOf(fields: Record<string, string | Buffer>): grpc.Metadata {
  const metadata = new grpc.Metadata()
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value)
  return metadata
}

describe('a unary call', () => {
  it.each([0, 1, 100, 16_384, 65_000])('carries %i bytes there and back', async (size) => {
    const { message } = await client.echo('x'.repeat(size))
    expect(message.text).toHaveLength(size)
  })

  it('carries text of any script', async () => {
    expect((await client.echo('Grüße, 世界 🌍')).message.text).toBe('Grüße, 世界 🌍')
  })

  it('is answered whatever else is in flight on its connection', async () => {
    const texts = Array.from({ length: 2_000 }, (_, i) => `call ${i}`)
    const replies = await Promise.all(texts.map((text) => client.echo(text)))
    expect(replies.map(({ message }) => message.text)).toEqual(texts)
  })

  it('above 64 KiB is refused, and the next is answered on the same connection', async () => {
    await client.echo('first')
    const before = server.stats.connections
    const error = await statusOf(client.echo('x'.repeat(70_000)))
    expect(error.code).toBe(grpc.status.RESOURCE_EXHAUSTED)
    expect((await client.echo('small')).message.text).toBe('small')
    expect(server.stats.connections).toBe(before)
  })

  const compressing = (algorithm: grpc.compressionAlgorithms) =>
    connected(server.address, undefined, { 'grpc.default_compression_algorithm': algorithm })

  it('that is compressed by gzip is answered', async () => {
    const zipped = compressing(grpc.compressionAlgorithms.gzip)
    for (const size of [0, 1_000, 60_000]) {
      expect((await zipped.echo('x'.repeat(size))).message.text).toHaveLength(size)
    }
  })

  it('that is compressed otherwise is refused as UNIMPLEMENTED, with what is accepted', async () => {
    const error = await statusOf(compressing(grpc.compressionAlgorithms.deflate).echo('x'.repeat(1_000)))
    expect(error.code).toBe(grpc.status.UNIMPLEMENTED)
    expect(error.metadata.get('grpc-accept-encoding')).toEqual(['identity,gzip'])
  })

  it('of a method that is not served is UNIMPLEMENTED', async () => {
    const error = await statusOf(client.unary('/test.Echo/Nothing', { text: '', count: 0 }))
    expect(error.code).toBe(grpc.status.UNIMPLEMENTED)
  })

  it('whose handler throws is UNKNOWN or INTERNAL, and reveals nothing about the error', async () => {
    const error = await statusOf(client.unary(ECHO.crash, { text: '', count: 0 }))
    expect([grpc.status.UNKNOWN, grpc.status.INTERNAL]).toContain(error.code)
    expect(error.message).not.toContain('secret')
  })
})

describe('an error', () => {
  const codes = Object.values(grpc.status).filter((code): code is grpc.status => typeof code === 'number' && code > 0)

  it.each(codes)('of status %i arrives with its message', async (code) => {
    const error = await statusOf(client.unary(ECHO.fail, { text: 'no luck', count: code }))
    expect(error).toMatchObject({ code, details: 'no luck' })
  })

  it.each(['', 'Grüße, 世界 🌍', '100 % of it', 'two\nlines\tand a tab', 'a'.repeat(2_000), '%41'])(
    'carries the message %j',
    async (text) => {
      const error = await statusOf(client.unary(ECHO.fail, { text, count: 9 }))
      expect(error.details).toBe(text)
    },
  )
})

describe('metadata', () => {
  it('goes both ways, before and behind the answer', async () => {
    const { headers, trailers } = await client.echo('x', { metadata: metadataOf({ 'x-echo': 'tenant 7' }) })
    expect([headers.get('x-echo'), trailers.get('x-echo')]).toEqual([['tenant 7'], ['tenant 7']])
  })

  it.each([0, 1, 2, 3, 255, 2_000])('carries %i bytes of any kind under a name that ends in -bin', async (size) => {
    const bytes = Buffer.from(Array.from({ length: size }, (_, i) => (i * 7) & 0xff))
    const { headers, trailers } = await client.echo('x', { metadata: metadataOf({ 'x-echo-bin': bytes }) })
    expect([headers.get('x-echo-bin'), trailers.get('x-echo-bin')]).toEqual([[bytes], [bytes]])
  })

  it('of 8 KB is read, over CONTINUATION frames and again from the table', async () => {
    for (let n = 0; n < 3; n++) {
      const { headers } = await client.echo('x', { metadata: metadataOf({ 'x-echo': `${n}`.repeat(8_000) }) })
      expect(headers.get('x-echo')).toEqual([`${n}`.repeat(8_000)])
    }
  })

  it('of 20 KiB is taken', async () => {
    const { message } = await client.echo('x', { metadata: metadataOf({ 'x-long': 'y'.repeat(20_480) }) })
    expect(message.text).toBe('x')
  })

  it('above the limit fails its call and no other', async () => {
    await client.echo('first')
    const before = server.stats.connections
    const others = Array.from({ length: 20 }, () => client.echo('other'))
    const error = await statusOf(client.echo('x', { metadata: metadataOf({ 'x-echo': 'y'.repeat(33_000) }) }))
    expect(error).toMatchObject({
      code: grpc.status.RESOURCE_EXHAUSTED,
      details: 'the headers of this request are too large',
    })
    expect((await Promise.all(others)).every(({ message }) => message.text === 'other')).toBe(true)
    expect((await client.echo('after')).message.text).toBe('after')
    expect(server.stats.connections).toBe(before)
  })
})

describe('a stream of answers', () => {
  const all = async (stream: grpc.ClientReadableStream<EchoMessage>) => {
    const messages: EchoMessage[] = []
    for await (const message of stream) messages.push(message as EchoMessage)
    return messages
  }

  it.each([0, 1, 10, 5_000])('of %i messages arrives whole and in order', async (count) => {
    const messages = await all(client.stream({ text: 'n', count }))
    expect(messages.map((message) => message.count)).toEqual(Array.from({ length: count }, (_, i) => i))
  })

  it('larger than every window arrives whole', async () => {
    const messages = await all(client.stream({ text: 'z'.repeat(60_000), count: 100 }))
    expect(messages).toHaveLength(100)
    expect(messages.every(({ text }) => text.length === 60_000)).toBe(true)
  })

  it('ends for the server when the client cancels it', async () => {
    const stream = client.stream({ text: 'n', count: 1_000_000 })
    stream.on('error', () => {})
    await new Promise((resolve) => stream.once('data', resolve))
    stream.cancel()
    await until('the stream is gone', () => server.stats.streamsOpen === 0)
  })
})

describe('a deadline', () => {
  it('ends a call that is not answered, on both sides', async () => {
    const clock = new ManualClock()
    const own = await started({ clock })
    const deadline = Date.now() + 3_600_000
    const hold = connected(own.address).unary(ECHO.hold, { text: '', count: 0 }, { options: { deadline } })
    const failed = statusOf(hold)
    await until('the handler holds the call', () => own.held === 1)
    expect(own.cancelled).toBe(0)
    clock.advance(3_600_000)
    expect((await failed).code).toBe(grpc.status.DEADLINE_EXCEEDED)
    expect([own.held, own.cancelled, own.stats.streamsOpen]).toEqual([0, 1, 0])
  })

  it('that is far away does not hinder', async () => {
    const far = { options: { deadline: Date.now() + 3_600_000 } }
    expect((await client.echo('in time', far)).message.text).toBe('in time')
  })
})

describe('a cancellation', () => {
  it('reaches the handler', async () => {
    const before = server.cancelled
    let call: grpc.ClientUnaryCall | undefined
    const failed = statusOf(
      client.unary(
        ECHO.hold,
        { text: '', count: 0 },
        {
          onCall: (made) => {
            call = made
          },
        },
      ),
    )
    await until('the handler holds the call', () => server.held > 0)
    call!.cancel()
    expect((await failed).code).toBe(grpc.status.CANCELLED)
    await until('the handler knows', () => server.cancelled === before + 1)
    expect(server.held).toBe(0)
  })

  it('by a client that goes away reaches the handler, too', async () => {
    const own = await started()
    const proxy = await startProxy(Number(own.address.split(':')[1]))
    closing.push(() => proxy.stop())
    const failed = statusOf(connected(`127.0.0.1:${proxy.port}`).unary(ECHO.hold, { text: '', count: 0 }))
    await until('the handler holds the call', () => own.held > 0)
    await proxy.cut()
    await failed
    await until('the handler knows', () => own.cancelled === 1 && own.stats.connectionsOpen === 0)
  })
})

describe('keepalive', () => {
  it('pings are answered, within a call and without one', async () => {
    const own = await started()
    const pinging = connected(own.address, undefined, {
      'grpc.keepalive_time_ms': 10,
      'grpc.keepalive_timeout_ms': 5_000,
      'grpc.keepalive_permit_without_calls': 1,
    })
    await pinging.echo('first')
    const before = own.stats.bytesRead
    // A PING is 17 bytes.
    await until('five pings have come', () => own.stats.bytesRead >= before + 5 * 17)
    expect((await pinging.echo('second')).message.text).toBe('second')
    expect(own.stats.connections).toBe(1)
  })
})

describe('a drain', () => {
  it('fails no call: calls in flight end, the next ones find another server', async () => {
    const [first, second] = [await started(), await started()]
    const both = `ipv4:${first.address},${second.address}`
    const calling = connected(both)
    let [isOver, answered] = [false, 0]
    const loop = async () => {
      while (!isOver) {
        await calling.echo('x')
        answered++
      }
    }
    const loops = Array.from({ length: 20 }, loop)
    await until('calls are in flight', () => answered > 200)
    const draining = first.stats.connectionsOpen > 0 ? first : second
    const other = draining === first ? second : first
    await draining.drain()
    const drainedAt = answered
    await until('the other server answers', () => other.stats.calls > 200 && answered > drainedAt + 200)
    isOver = true
    await Promise.all(loops)
    expect(draining.stats.connectionsOpen).toBe(0)
  })

  it('waits for a call that was there before, and lets it end', async () => {
    const own = await started()
    const calling = connected(own.address)
    const call = calling.unary(ECHO.late, { text: 'late', count: 0 })
    await until('the handler holds the call', () => own.held > 0)
    const drained = own.drain()
    own.release()
    expect((await call).message.text).toBe('late')
    await drained
  })

  it('of old connections goes unnoticed', async () => {
    const own = await started({ limits: { maxConnectionAgeMs: 60, connectionAgeGraceMs: 5_000 } })
    const calling = connected(own.address)
    let answered = 0
    while (own.stats.connections < 4) {
      await Promise.all([calling.echo('a'), calling.echo('b')])
      answered += 2
    }
    expect(own.stats.closedFor.age).toBeGreaterThanOrEqual(3)
    expect(own.stats.callsFailed + own.stats.callsCancelled).toBe(0)
    expect(own.stats.calls).toBe(answered)
  })
})

describe('ways to connect', () => {
  let dir: string
  const pem = (name: string) => readFileSync(join(dir, name))
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'sluice-grpc-'))
    await makeCertificates(dir)
  })
  afterAll(() => rmSync(dir, { recursive: true }))

  it('TLS, chosen by ALPN', async () => {
    const own = await started({ tls: { cert: pem('server.crt'), key: pem('server.key') } })
    const calling = connected(own.address, grpc.credentials.createSsl(pem('ca.crt')))
    const { message } = await calling.echo('over TLS')
    expect(message.text).toBe('over TLS')
    expect(own.peers).toMatchObject([{ encrypted: true, identity: undefined }])
  })

  it('TLS with a certificate of the client, whose name the handler sees', async () => {
    const tls = { cert: pem('server.crt'), key: pem('server.key'), ca: pem('ca.crt') }
    const own = await started({ tls: { ...tls, requestCert: true, rejectUnauthorized: true } })
    const credentials = grpc.credentials.createSsl(pem('ca.crt'), pem('client.key'), pem('client.crt'))
    expect((await connected(own.address, credentials).echo('hello')).message.text).toBe('hello')
    expect(own.peers).toMatchObject([
      { encrypted: true, identity: { authorized: true, commonName: 'sluice test client' } },
    ])
  })

  it('not without a certificate where one is asked for', async () => {
    const tls = { cert: pem('server.crt'), key: pem('server.key'), ca: pem('ca.crt') }
    const own = await started({ tls: { ...tls, requestCert: true, rejectUnauthorized: true } })
    const without = connected(own.address, grpc.credentials.createSsl(pem('ca.crt')))
    const error = await statusOf(without.echo('x'))
    expect(error.code).toBe(grpc.status.UNAVAILABLE)
    expect(own.stats.calls).toBe(0)
  })

  it('a Unix socket', async () => {
    const path = join(dir, 'echo.sock')
    const own = await started({ path })
    expect((await connected(`unix:${path}`).echo('local')).message.text).toBe('local')
    expect(own.peers).toMatchObject([{ address: '', encrypted: false }])
  })
})
