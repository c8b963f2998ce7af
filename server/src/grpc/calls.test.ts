import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../net/manual-clock.suite.ts'
import type { StreamCall, UnaryCall } from './call.ts'
import {
  call,
  callFields,
  data,
  END_HEADERS,
  END_STREAM,
  frame,
  headers,
  message,
  reset,
  settings,
  uint32,
} from './frame-script.suite.ts'
import { HpackEncoder } from './hpack/hpack-encoder.ts'
import { ScriptedClient, settle } from './scripted-client.suite.ts'
import { GrpcServer } from './server.ts'
import { GrpcStatus } from './status.ts'

const ECHO = '/test.Test/Echo'
const HOLD = '/test.Test/Hold'
const OK_HEAD = ':status=200 content-type=application/grpc'
const answered = (id: number, text: string): string[] => [
  `HEADERS ${id} ${OK_HEAD}`,
  `DATA ${id} "${text}"`,
  `HEADERS ${id} END grpc-status=0`,
]
const failed = (id: number, status: number, text: string): string =>
  `HEADERS ${id} END ${OK_HEAD} grpc-status=${status} grpc-message=${text}`

/** Scene is a server with a method that echoes and one whose calls wait for the test. */
async function scene(options: ConstructorParameters<typeof GrpcServer>[0] = {}) {
  const errors: [unknown, string][] = []
  const clock = new ManualClock()
  const server = new GrpcServer({ clock, onError: (error, path) => errors.push([error, path]), ...options })
  const held: UnaryCall[] = []
  server.unary(ECHO, (call) => call.respond(call.message))
  server.unary(HOLD, (call) => void held.push(call))
  const client = await ScriptedClient.connect(server)
  await client.received()
  return { server, client, held, clock, errors }
}

describe('an answer', () => {
  it('leaves with all others of its turn in one write', async () => {
    const { client } = await scene()
    client.writes = 0
    const calls = Array.from({ length: 200 }, (_, i) => call(2 * i + 1, ECHO, `${i}`))
    expect(await client.send(...calls)).toEqual(calls.flatMap((_, i) => answered(2 * i + 1, `${i}`)))
    expect(client.writes).toBe(1)
  })

  it('that comes later leaves in one write for each connection, however its promises are chained', async () => {
    const { server, client, held } = await scene()
    const other = await ScriptedClient.connect(server)
    for (const each of [client, other]) await each.send(...[1, 3, 5, 7].map((id) => call(id, HOLD, 'a')))
    client.writes = 0
    other.writes = 0
    const reply = new Promise<void>((resolve) => setImmediate(resolve))
    const waits = held.map(async (each, depth) => {
      await reply
      for (let i = 0; i < depth; i++) await undefined
      each.respond(Buffer.from(`${depth}`))
    })
    await Promise.all(waits)
    expect((await client.received()).filter((line) => line.startsWith('DATA'))).toHaveLength(4)
    expect((await other.received()).filter((line) => line.startsWith('DATA'))).toHaveLength(4)
    expect([client.writes, other.writes]).toEqual([1, 1])
  })

  it('may be empty', async () => {
    const { client } = await scene()
    expect(await client.send(call(1, ECHO))).toEqual(answered(1, ''))
  })

  it('is taken once', async () => {
    const { client, held } = await scene()
    await client.send(call(1, HOLD))
    expect([held[0].respond(Buffer.from('a')), held[0].respond(Buffer.from('b'))]).toEqual([true, false])
    expect(held[0].fail(GrpcStatus.ABORTED)).toBe(false)
    expect(await client.received()).toEqual(answered(1, 'a'))
  })

  it('is encoded in place by respondInto', async () => {
    const { server, client } = await scene()
    server.unary('/test.Test/Into', (call) => {
      call.respondInto(100, (buffer, offset) => offset + buffer.write(`${call.message.length} bytes`, offset))
    })
    const lines = await client.send(call(1, '/test.Test/Into', 'abc'), call(3, '/test.Test/Into', ''))
    expect(lines).toEqual([...answered(1, '3 bytes'), ...answered(3, '0 bytes')])
  })

  it.each([
    ['throws', () => Number.NaN / 0 || raise('broken')],
    ['writes more than it announced', (_: Buffer, offset: number) => offset + 5],
    ['returns no offset', () => Number.NaN],
  ])('fails as a whole where what respondInto was given %s', async (_name, write) => {
    const { server, client, errors } = await scene()
    server.unary('/test.Test/Into', (call) => call.respondInto(4, write))
    expect(await client.send(call(1, '/test.Test/Into'), call(3, ECHO, 'b'))).toEqual([
      failed(1, 13, 'internal error'),
      ...answered(3, 'b'),
    ])
    expect(errors).toHaveLength(1)
  })

  it('may carry fields before and behind it', async () => {
    const { server, client } = await scene()
    server.unary('/test.Test/Fields', (call) => {
      call.setHeader('x-before', '1')
      call.setHeader('raw-bin', Uint8Array.of(0, 255))
      call.setTrailer('x-behind', '2')
      call.respond(call.message)
    })
    expect(await client.send(call(1, '/test.Test/Fields', 'a'), call(3, ECHO, 'b'))).toEqual([
      `HEADERS 1 ${OK_HEAD} x-before=1 raw-bin=AP8`,
      'DATA 1 "a"',
      'HEADERS 1 END grpc-status=0 x-behind=2',
      ...answered(3, 'b'),
    ])
  })
})

function raise(text: string): never {
  throw new Error(text)
}

describe('a failure', () => {
  it('is one block with status, message and fields', async () => {
    const { client, held } = await scene()
    await client.send(call(1, HOLD))
    held[0].setTrailer('x-why', 'because')
    held[0].fail(GrpcStatus.NOT_FOUND, 'nicht gefunden: ä 100%\n')
    expect(await client.received()).toEqual([`${failed(1, 5, 'nicht gefunden: %C3%A4 100%25%0A')} x-why=because`])
  })

  it('of a handler that throws shows the client nothing, and onError everything', async () => {
    const { server, client, errors } = await scene()
    const secret = new Error('secret')
    server.unary('/test.Test/Throw', () => {
      throw secret
    })
    server.unary('/test.Test/Reject', async () => {
      throw secret
    })
    expect(await client.send(call(1, '/test.Test/Throw'))).toEqual([failed(1, 13, 'internal error')])
    expect(await client.send(call(3, '/test.Test/Reject'))).toEqual([failed(3, 13, 'internal error')])
    expect(errors).toEqual([
      [secret, '/test.Test/Throw'],
      [secret, '/test.Test/Reject'],
    ])
  })

  it('of onError itself does not reach the connection', async () => {
    const { server, client } = await scene({ onError: () => raise('onError') })
    server.unary('/test.Test/Throw', () => raise('handler'))
    const warned = new Promise((resolve) => process.once('warning', resolve))
    expect(await client.send(call(1, '/test.Test/Throw'))).toEqual([failed(1, 13, 'internal error')])
    expect(await warned).toMatchObject({ message: 'onError' })
  })

  it('of a call that was answered before is only reported', async () => {
    const { server, client, errors } = await scene()
    server.unary('/test.Test/Late', (call) => {
      call.respond(call.message)
      raise('late')
    })
    expect(await client.send(call(1, '/test.Test/Late', 'a'))).toEqual(answered(1, 'a'))
    expect(errors).toHaveLength(1)
  })
})

describe('a message', () => {
  const text = 'a message in pieces'

  it('may come in two frames, split anywhere', async () => {
    const { client } = await scene()
    const whole = message(text)
    for (let cut = 0; cut <= whole.length; cut++) {
      const id = 2 * cut + 1
      const frames = [data(id, whole.subarray(0, cut)), data(id, whole.subarray(cut), END_STREAM)]
      expect(await client.send(headers(id, callFields(ECHO)), ...frames)).toEqual(answered(id, text))
    }
  })

  it('may come in two chunks, split anywhere', async () => {
    const { client } = await scene()
    const whole = call(1, ECHO, text)
    for (let cut = 1; cut < whole.length; cut++) {
      const bytes = call(2 * cut + 1, ECHO, text)
      await client.send(bytes.subarray(0, cut))
      expect(await client.send(bytes.subarray(cut))).toEqual(answered(2 * cut + 1, text))
    }
  })

  it('may come byte by byte', async () => {
    const { client } = await scene()
    const frames = [...message(text)].map((byte) => data(1, Buffer.of(byte)))
    expect(await client.send(headers(1, callFields(ECHO)), ...frames, data(1, '', END_STREAM))).toEqual(
      answered(1, text),
    )
  })

  it('is kept for an end that comes in the same chunk, or in a later one', async () => {
    const { client } = await scene()
    const start = (id: number): Buffer => Buffer.concat([headers(id, callFields(ECHO)), data(id, message(`${id}`))])
    const end = (id: number): Buffer => data(id, '', END_STREAM)
    expect(await client.send(start(1), start(3), end(1))).toEqual(answered(1, '1'))
    expect(await client.send(start(5), end(3))).toEqual(answered(3, '3'))
    expect(await client.send(end(5))).toEqual(answered(5, '5'))
  })

  it('can be read until the handler returns, and then no more', async () => {
    const { server, client, held, errors } = await scene()
    let read: Uint8Array | undefined
    server.unary('/test.Test/Read', async (call) => {
      read = new Uint8Array(call.messageBuffer.subarray(call.messageStart, call.messageEnd))
      await undefined
      call.respond(call.message)
    })
    expect(await client.send(call(1, '/test.Test/Read', 'abc'))).toEqual([failed(1, 13, 'internal error')])
    expect(Buffer.from(read!).toString()).toBe('abc')
    expect(errors[0][0]).toMatchObject({
      message: 'the message is no longer available: an asynchronous handler must copy it first',
    })
    expect(held).toEqual([])
  })

  const noEncoding = 'a message is marked as compressed, but grpc-encoding does not say how'
  it.each([
    ['is compressed somehow', Buffer.concat([Buffer.of(1), uint32(1), Buffer.of(7)]), failed(1, 13, noEncoding)],
    [
      'has a flag of 2',
      Buffer.concat([Buffer.of(2), uint32(1), Buffer.of(7)]),
      failed(1, 13, 'the flag of a message must be 0 or 1'),
    ],
    [
      'is too large',
      Buffer.concat([Buffer.of(0), uint32(65_537)]),
      failed(1, 8, 'a message of 65537 bytes; at most 65536 are allowed'),
    ],
    ['is one of two', Buffer.concat([message('a'), message('b')]), failed(1, 12, 'the method takes one message')],
    ['is cut short', message('abc').subarray(0, 7), failed(1, 13, 'the call ended within a message')],
    ['is missing', Buffer.alloc(0), failed(1, 13, 'the call ended without a message')],
  ])('that %s is refused, in one piece and byte by byte', async (_name, body, expected) => {
    const { client, server } = await scene()
    expect(await client.send(headers(1, callFields(ECHO)), data(1, body, END_STREAM))).toEqual([expected])
    const bytes = [...body].map((byte) => data(3, Buffer.of(byte)))
    const lines = await client.send(headers(3, callFields(ECHO)), ...bytes, data(3, '', END_STREAM))
    expect(lines[0]).toBe(expected.replace('HEADERS 1', 'HEADERS 3'))
    expect(server.stats.calls).toBe(0)
    expect(server.stats.callsFailed).toBe(2)
  })

  const zipped = gzipSync('abc')
  const packed = Buffer.concat([Buffer.of(1), uint32(zipped.length), zipped])
  const gzip = { 'grpc-encoding': 'gzip' }

  it('that is compressed by gzip is unpacked, in one piece and byte by byte, and may be left as it is', async () => {
    const { client } = await scene()
    const head = (id: number) => headers(id, callFields(ECHO, gzip))
    expect(await client.send(head(1), data(1, packed, END_STREAM))).toEqual(answered(1, 'abc'))
    const bytes = [...packed].map((byte) => data(3, Buffer.of(byte)))
    expect(await client.send(head(3), ...bytes, data(3, '', END_STREAM))).toEqual(answered(3, 'abc'))
    expect(await client.send(head(5), data(5, packed))).toEqual([])
    expect(await client.send(data(5, '', END_STREAM))).toEqual(answered(5, 'abc'))
    expect(await client.send(head(7), data(7, message('plain'), END_STREAM))).toEqual(answered(7, 'plain'))
  })

  it.each(['deflate', 'snappy', 'GZIP', 'gzip,identity'])(
    'of the encoding %s is refused before it comes',
    async (encoding) => {
      const { client, server } = await scene()
      const lines = await client.send(headers(1, callFields(ECHO, { 'grpc-encoding': encoding })))
      expect(lines).toEqual([
        `${failed(1, 12, 'grpc-encoding is not one of identity,gzip')} grpc-accept-encoding=identity,gzip`,
        'RST_STREAM 1 NO_ERROR',
      ])
      expect(server.stats.calls).toBe(0)
    },
  )

  it('that is marked as compressed where the encoding is identity is refused', async () => {
    const { client } = await scene()
    const head = headers(1, callFields(ECHO, { 'grpc-encoding': 'identity' }))
    expect(await client.send(head, data(1, packed, END_STREAM))).toEqual([failed(1, 13, noEncoding)])
  })

  it('that came in pieces, or was unpacked, counts until its call is answered', async () => {
    const { client, server, held } = await scene()
    const [large, small] = [Buffer.alloc(60_000), call(9, HOLD, 'a')]
    const pieces = (id: number) => {
      const whole = message(large)
      return [0, 15_000, 30_000, 45_000, 60_000].map((at) =>
        data(id, whole.subarray(at, at + 15_000), at === 60_000 ? END_STREAM : 0),
      )
    }
    await client.send(headers(1, callFields(HOLD)), ...pieces(1))
    const ofPieces = server.stats.bytesHeld
    expect(ofPieces).toBeGreaterThan(large.length)
    const bomb = gzipSync(large)
    const body = Buffer.concat([Buffer.of(1), uint32(bomb.length), bomb])
    await client.send(headers(3, callFields(HOLD, gzip)), data(3, body, END_STREAM))
    expect(server.stats.bytesHeld - ofPieces).toBeGreaterThanOrEqual(large.length)
    await client.send(small)
    for (const each of held.splice(0)) each.fail(GrpcStatus.ABORTED)
    await client.received()
    expect(server.stats.streamsOpen).toBe(0)
    expect(server.stats.bytesHeld).toBeLessThan(10_000)
  })

  it('of 64 KiB is taken, in frames of any size', async () => {
    const { client } = await scene()
    const whole = message(Buffer.alloc(65_536, 'x'))
    const frames: Buffer[] = []
    for (let at = 0; at < whole.length; at += 9_999) frames.push(data(1, whole.subarray(at, at + 9_999)))
    const lines = await client.send(headers(1, callFields(HOLD)), ...frames, data(1, '', END_STREAM))
    expect(lines).toEqual([])
  })

  it('that is refused early stops its client', async () => {
    const { client } = await scene()
    const lines = await client.send(headers(1, callFields(ECHO)), data(1, Buffer.of(0, 255, 255, 255, 255)))
    expect(lines).toEqual([
      failed(1, 8, 'a message of 4294967295 bytes; at most 65536 are allowed'),
      'RST_STREAM 1 NO_ERROR',
    ])
    expect(await client.send(data(1, 'more of it', END_STREAM))).toEqual([])
  })

  it('that is not complete counts, and too many of them are refused', async () => {
    const { client, server } = await scene({ limits: { maxPendingBytes: 100_000 } })
    const part = (id: number): Buffer =>
      Buffer.concat([headers(id, callFields(ECHO)), data(id, message(Buffer.alloc(60_000)).subarray(0, 16_000))])
    const lines = await client.send(part(1), part(3), part(5), part(7), part(9))
    expect(lines).toContain(failed(9, 8, 'too many incomplete requests on this connection'))
    expect(server.stats.streamsOpen).toBeLessThan(5)
    for (const id of [1, 3, 5, 7]) await client.send(reset(id))
    expect(await client.send(part(11))).toEqual([])
  })
})

describe('a request', () => {
  const plain = (status: number, length: number, more = ''): string =>
    `HEADERS 1 :status=${status} content-type=text/plain; charset=utf-8 content-length=${length}${more}`

  it('for an unknown method is refused before its end', async () => {
    const { client } = await scene()
    expect(await client.send(headers(1, callFields('/test.Test/Nope')))).toEqual([
      failed(1, 12, 'unknown method /test.Test/Nope'),
      'RST_STREAM 1 NO_ERROR',
    ])
  })

  it('finds a method that was registered after it was first asked for', async () => {
    const { client, server } = await scene()
    await client.send(call(1, '/test.Test/New'))
    server.unary('/test.Test/New', (call) => call.respond(call.message))
    expect(await client.send(call(3, '/test.Test/New', 'a'))).toEqual(answered(3, 'a'))
  })

  it.each(['application/grpc+proto', 'application/grpc;charset=utf-8', 'application/grpc'])(
    'of content-type %s is a call',
    async (type) => {
      const { client } = await scene()
      expect(await client.send(call(1, ECHO, 'a', { 'content-type': type }))).toEqual(answered(1, 'a'))
    },
  )

  it.each(['application/json', 'application/grpc-web', 'text/plain', 'application/grp'])(
    'of content-type %s is answered 415',
    async (type) => {
      const { client } = await scene()
      expect(await client.send(call(1, ECHO, 'a', { 'content-type': type }))).toEqual([plain(415, 68), 'DATA 1 END 68'])
    },
  )

  it.each(['GET', 'PUT', 'OPTIONS'])('of method %s is answered 405', async (method) => {
    const { client } = await scene()
    const fields = callFields(ECHO, { ':method': method })
    expect(await client.send(headers(1, fields, END_HEADERS | END_STREAM))).toEqual([
      plain(405, 48, ' allow=POST'),
      'DATA 1 END 48',
    ])
  })

  it('of method HEAD is answered without content', async () => {
    const { client } = await scene()
    const fields = callFields(ECHO, { ':method': 'HEAD' })
    expect(await client.send(headers(1, fields, END_HEADERS | END_STREAM))).toEqual([
      plain(405, 48, ' allow=POST').replace('HEADERS 1', 'HEADERS 1 END'),
    ])
  })

  it('that is no call and does not end is answered when it has sent too much', async () => {
    const { client } = await scene()
    const chunk = data(1, Buffer.alloc(16_384))
    const start = headers(1, callFields(ECHO, { 'content-type': 'a/b' }))
    expect(await client.send(start, chunk, chunk, chunk, chunk)).toEqual([])
    expect(await client.send(chunk)).toEqual([plain(415, 68), 'DATA 1 END 68', 'RST_STREAM 1 NO_ERROR'])
  })

  it('that is no call and does not end is answered when its time is over', async () => {
    const { client, clock } = await scene()
    await client.send(headers(1, callFields(ECHO, { 'content-type': 'a/b' })))
    clock.advance(60_010)
    expect(await client.received()).toEqual([plain(415, 68), 'DATA 1 END 68', 'RST_STREAM 1 NO_ERROR'])
  })

  it('with a header list above the limit is answered 431, and the connection continues', async () => {
    const { client } = await scene({ limits: { maxHeaderListBytes: 16_384 } })
    const lines = await client.send(
      call(1, ECHO, '', { 'x-long': 'x'.repeat(20_000).slice(0, 16_100) }),
      call(3, ECHO, 'a'),
    )
    const status = 'grpc-status=8 grpc-message=the headers of this request are too large'
    expect(lines).toEqual([
      `HEADERS 1 END :status=431 content-type=application/grpc ${status}`,
      'RST_STREAM 1 NO_ERROR',
      ...answered(3, 'a'),
    ])
  })

  it('is recognised by a block that uses the dynamic table, whatever else changes the table', async () => {
    const { client, server } = await scene()
    const encoder = new HpackEncoder()
    const seen: string[] = []
    server.unary('/test.Test/Seen', (call) => {
      seen.push(`${call.path} ${call.metadata.get('x-user')}`)
      call.respond(call.message)
    })
    const blockOf = (user: string): Buffer => {
      const fields = Object.entries(callFields('/test.Test/Seen', { 'x-user': user }))
      const out = Buffer.alloc(1_000)
      return out.subarray(
        0,
        encoder.encode(
          fields.map(([name, value]) => ({ name, value })),
          out,
          0,
        ),
      )
    }
    const users = [
      'ann',
      'ann',
      'ann',
      'bob',
      'ann',
      'bob',
      'bob',
      ...Array.from({ length: 100 }, (_, i) => `u${i}`),
      'ann',
      'ann',
    ]
    let id = 1
    for (const user of users) {
      const sent = await client.send(frame(1, END_HEADERS, id, blockOf(user)), data(id, message(user), END_STREAM))
      expect(sent).toEqual(answered(id, user))
      id += 2
    }
    expect(seen).toEqual(users.map((user) => `/test.Test/Seen ${user}`))
  })
})

describe('a client', () => {
  it('that allows no dynamic table gets none', async () => {
    const { server } = await scene()
    const client = await ScriptedClient.connect(server, [1, 0])
    await client.received()
    expect(await client.send(call(1, ECHO, 'a'))).toEqual(answered(1, 'a'))
    expect(await client.send(call(3, ECHO, 'b'))).toEqual(answered(3, 'b'))
  })

  it('may take the dynamic table away later', async () => {
    const { client } = await scene()
    expect(await client.send(call(1, ECHO, 'a'))).toEqual(answered(1, 'a'))
    expect(await client.send(settings([1, 0]))).toEqual(['SETTINGS ACK'])
    expect(await client.send(call(3, ECHO, 'b'), call(5, ECHO, 'c'))).toEqual([
      ...answered(3, 'b'),
      ...answered(5, 'c'),
    ])
    expect(await client.send(settings([1, 4096]), call(7, ECHO, 'd'))).toEqual(['SETTINGS ACK', ...answered(7, 'd')])
  })

  it('finds its fields in the metadata', async () => {
    const { client, server } = await scene()
    const seen: StreamCall[] = []
    // Read while the handler runs, and kept for later.
    server.serverStreaming('/test.Test/Fields', (each) => void (each.metadata && seen.push(each)))
    await client.send(call(1, '/test.Test/Fields', '', { 'x-user': 'ann', 'key-bin': 'AP8' }))
    const { metadata, path } = seen[0]
    expect(path).toBe('/test.Test/Fields')
    expect([metadata.get('x-user'), metadata.get('x-other')]).toEqual(['ann', undefined])
    expect([...metadata.getBinary('key-bin')!]).toEqual([0, 255])
    expect(metadata.getBinary('other-bin')).toBe(undefined)
    expect([...metadata.entries()]).toEqual([
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['x-user', 'ann'],
      ['key-bin', 'AP8'],
    ])
  })

  it('has its fields forgotten where the handler did not ask for them', async () => {
    const { client, held } = await scene()
    await client.send(call(1, HOLD, '', { 'x-user': 'ann' }))
    expect(held[0].path).toBe(HOLD)
    expect(() => held[0].metadata).toThrow(
      'the metadata is no longer available: an asynchronous handler must read it first',
    )
  })

  it('that resets its call cancels it', async () => {
    const { client, held, server } = await scene()
    const events: string[] = []
    await client.send(call(1, HOLD))
    held[0].onCancel(() => events.push('cancelled'))
    expect(held[0].cancelled).toBe(false)
    expect(await client.send(reset(1))).toEqual([])
    held[0].onCancel(() => events.push('at once'))
    expect(events).toEqual(['cancelled', 'at once'])
    expect([held[0].cancelled, held[0].respond(Buffer.alloc(1))]).toEqual([true, false])
    expect(await client.received()).toEqual([])
    expect(server.stats).toMatchObject({ calls: 1, callsCancelled: 1, streamsOpen: 0 })
  })

  it('that goes away cancels its calls', async () => {
    const { client, held, server } = await scene()
    await client.send(call(1, HOLD), call(3, HOLD))
    await client.leave()
    expect(held.map(({ cancelled }) => cancelled)).toEqual([true, true])
    expect(server.stats).toMatchObject({ callsCancelled: 2, streamsOpen: 0, connectionsOpen: 0 })
  })

  it('is not harmed by an onCancel that throws', async () => {
    const { client, held, errors } = await scene()
    await client.send(call(1, HOLD))
    held[0].onCancel(() => raise('onCancel'))
    expect(await client.send(reset(1), call(3, ECHO, 'a'))).toEqual(answered(3, 'a'))
    expect(errors).toEqual([[expect.objectContaining({ message: 'onCancel' }), HOLD]])
  })
})

describe('a deadline', () => {
  it('ends a call that is not answered by then', async () => {
    const { client, held, clock, server } = await scene()
    await client.send(call(1, HOLD, '', { 'grpc-timeout': '250m' }))
    expect(held[0].deadlineMs).toBe(clock.nowMs() + 250)
    clock.advance(240)
    expect([held[0].remainingMs, held[0].cancelled]).toEqual([10, false])
    clock.advance(20)
    expect([held[0].remainingMs, held[0].cancelled]).toEqual([0, true])
    expect(await client.received()).toEqual([failed(1, 4, 'the deadline has passed')])
    expect(server.stats).toMatchObject({ deadlinesExceeded: 1, callsCancelled: 1 })
  })

  it('is forgotten when the call is answered', async () => {
    const { client, held, clock } = await scene()
    await client.send(call(1, HOLD, '', { 'grpc-timeout': '1S' }))
    held[0].respond(Buffer.from('a'))
    clock.advance(2_000)
    expect(await client.received()).toEqual(answered(1, 'a'))
  })

  it('that is far away leaves nothing behind when the call is answered', async () => {
    const { client, held, clock } = await scene()
    await client.send(call(1, HOLD, '', { 'grpc-timeout': '1H' }))
    held[0].respond(Buffer.from('a'))
    await client.leave()
    clock.advance(10_000)
    expect(clock.timers).toBe(0)
  })

  it('does not exist where the client gives none', async () => {
    const { client, held, clock } = await scene({ limits: { idleTimeoutMs: Number.POSITIVE_INFINITY } })
    await client.send(call(1, HOLD))
    expect([held[0].deadlineMs, held[0].remainingMs]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
    clock.advance(3_600_000)
    expect(held[0].cancelled).toBe(false)
  })

  it('counts while the request is on its way', async () => {
    const { client, clock } = await scene()
    await client.send(headers(1, callFields(HOLD, { 'grpc-timeout': '1S' })))
    clock.advance(1_010)
    expect(await client.received()).toEqual([failed(1, 4, 'the request did not come in time'), 'RST_STREAM 1 NO_ERROR'])
  })

  it.each([
    ['x', 13, 'grpc-timeout cannot be read'],
    ['0n', 4, 'the deadline has passed'],
  ])('of "%s" refuses the call', async (timeout, status, text) => {
    const { client } = await scene()
    expect(await client.send(call(1, ECHO, '', { 'grpc-timeout': timeout }))).toEqual([
      failed(1, status, text),
      'RST_STREAM 1 NO_ERROR',
    ])
  })

  it('of many calls takes one timer', async () => {
    const { client, clock } = await scene()
    const timers = clock.timers
    await client.send(...[1, 3, 5, 7, 9].map((id) => call(id, HOLD, '', { 'grpc-timeout': `${id}S` })))
    expect(clock.timers).toBe(timers)
    clock.advance(20_000)
    expect(await client.received()).toHaveLength(5)
  })
})

describe('registering', () => {
  it('takes a path once', () => {
    const server = new GrpcServer().unary(ECHO, () => {})
    expect(() => server.serverStreaming(ECHO, () => {})).toThrow(
      '/test.Test/Echo is already registered: a method has only one handler',
    )
  })

  it.each(['', 'test.Test/Echo', '/test.Test', '/test.Test/Echo/more', '/a b/c'])('refuses the path "%s"', (path) => {
    expect(() => new GrpcServer().unary(path, () => {})).toThrow(
      'the path of a method must be "/package.Service/Method"',
    )
  })

  it('leaves nothing behind when the server is closed', async () => {
    const { server, client, held, clock } = await scene()
    await client.send(call(1, HOLD, '', { 'grpc-timeout': '1S' }))
    await server.close()
    await settle()
    expect(held[0].cancelled).toBe(true)
    expect(server.stats).toMatchObject({ connectionsOpen: 0, streamsOpen: 0 })
    clock.advance(10_000)
    expect(clock.timers).toBe(0)
  })
})
