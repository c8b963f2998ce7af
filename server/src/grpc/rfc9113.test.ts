import { describe, expect, it } from 'vitest'
import {
  ACK,
  block,
  call,
  callFields,
  continuation,
  data,
  END_HEADERS,
  END_STREAM,
  type Fields,
  frame,
  goaway,
  headers,
  message,
  PADDED,
  PRIORITY,
  ping,
  preface,
  priority,
  reset,
  settings,
  settingsAck,
  uint32,
  windowUpdate,
} from './frame-script.suite.ts'
import { FrameType } from './frames.ts'
import { ScriptedClient } from './scripted-client.suite.ts'
import { GrpcServer } from './server.ts'

const ECHO = '/test.Test/Echo'
const NEVER = '/test.Test/Never'
const OK_HEAD = ':status=200 content-type=application/grpc'
const LONG = 16_385

function testServer(): GrpcServer {
  const server = new GrpcServer()
  server.unary(ECHO, (call) => call.respond(call.message))
  server.unary(NEVER, () => {})
  return server
}

const get: Fields = { ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'test' }
const answered = (id: number, text: string): string[] => [
  `HEADERS ${id} ${OK_HEAD}`,
  `DATA ${id} "${text}"`,
  `HEADERS ${id} END grpc-status=0`,
]
const refusedMethod = (id: number): string[] => [
  `HEADERS ${id} :status=405 content-type=text/plain; charset=utf-8 content-length=48 allow=POST`,
  `DATA ${id} END 48`,
]

/** A Row is a section of RFC 9113, what a client does, its frames, and the frames that come back. */
type Row = readonly [section: string, claim: string, frames: readonly Uint8Array[], expected: readonly string[]]

const open = (id: number, more = {}): Buffer => headers(id, callFields(NEVER, more))
const closed = (id: number): Buffer => Buffer.concat([call(id, ECHO, 'a')])
const fails = (code: string, lastId = 0): string[] => [`GOAWAY ${lastId} ${code}`]
const resets = (id: number, code: string): string[] => [`RST_STREAM ${id} ${code}`]

async function exchange(frames: readonly Uint8Array[]): Promise<{ lines: string[]; client: ScriptedClient }> {
  const client = await ScriptedClient.connect(testServer())
  await client.received()
  return { lines: await client.send(...frames), client }
}

function rows(title: string, table: readonly Row[]): void {
  describe(title, () => {
    it.each(table)('%s: %s', async (_section, _claim, frames, expected) => {
      const { lines, client } = await exchange(frames)
      expect(lines).toEqual(expected)
      expect(client.ended).toBe(expected.some((line) => line.startsWith('GOAWAY')))
    })
  })
}

describe('the start of a connection', () => {
  it('3.4: the server sends its SETTINGS first and acknowledges the client’s', async () => {
    const client = new ScriptedClient(testServer())
    expect(await client.received()).toEqual(['SETTINGS 3=1024 4=131082 6=32768', 'WINDOW_UPDATE 0 983041'])
    expect(await client.send(preface, settings())).toEqual(['SETTINGS ACK'])
  })

  it.each<Row>([
    ['3.4', 'a preface that is none', [Buffer.from('GET / HTTP/1.1\r\n\r\n')], fails('PROTOCOL_ERROR')],
    ['3.4', 'a first frame other than SETTINGS', [preface, ping()], fails('PROTOCOL_ERROR')],
    ['3.4', 'an acknowledgement as first frame', [preface, settingsAck], fails('PROTOCOL_ERROR')],
  ])('%s: %s ends the connection', async (_section, _claim, frames, expected) => {
    const client = new ScriptedClient(testServer())
    await client.received()
    expect(await client.send(...frames)).toEqual(expected)
    expect(client.ended).toBe(true)
  })
})

rows('4.1 and 4.2, frames', [
  ['4.1', 'a frame of unknown type is ignored', [frame(0x16, 255, 3, uint32(1)), ping()], ['PING ACK 12345678']],
  ['4.1', 'unknown flags are ignored', [ping('abcdefgh', 0x16)], ['PING ACK abcdefgh']],
  ['4.1', 'the reserved bit is ignored', [setReservedBit(ping())], ['PING ACK 12345678']],
  ['4.2', 'DATA above the size limit', [open(1), data(1, Buffer.alloc(LONG))], fails('FRAME_SIZE_ERROR', 1)],
  ['4.2', 'HEADERS above the size limit', [frame(1, 4, 1, Buffer.alloc(LONG))], fails('FRAME_SIZE_ERROR')],
  ['4.2', 'an unknown frame above the size limit', [frame(99, 0, 0, Buffer.alloc(LONG))], fails('FRAME_SIZE_ERROR')],
  ['4.2', 'DATA of the largest size is taken', [open(1), data(1, Buffer.alloc(16_384)), ping()], largeAnswer()],
])

function setReservedBit(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy[5] |= 0x80
  return copy
}

function largeAnswer(): string[] {
  // Zeros are a message without content, and more.
  const trailers = `${OK_HEAD} grpc-status=12 grpc-message=the method takes one message`
  return [`HEADERS 1 END ${trailers}`, 'RST_STREAM 1 NO_ERROR', 'PING ACK 12345678']
}

rows('4.3, header blocks', [
  ['4.3', 'a block that cannot be decoded', [frame(1, 5, 1, Buffer.of(0x80))], fails('COMPRESSION_ERROR')],
  ['4.3', 'another frame within a block', [headers(1, get, END_STREAM), ping()], fails('PROTOCOL_ERROR')],
  [
    '4.3',
    'a block of another stream within a block',
    [headers(1, get, END_STREAM), headers(3, get)],
    fails('PROTOCOL_ERROR'),
  ],
  ['4.3', 'an unknown frame within a block', [headers(1, get, END_STREAM), frame(99, 0, 1)], fails('PROTOCOL_ERROR')],
])

rows('5.1, states of streams', [
  ['5.1', 'DATA on an idle stream', [data(1, 'a')], fails('PROTOCOL_ERROR')],
  ['5.1', 'RST_STREAM on an idle stream', [reset(1)], fails('PROTOCOL_ERROR')],
  ['5.1', 'WINDOW_UPDATE on an idle stream', [windowUpdate(1, 1)], fails('PROTOCOL_ERROR')],
  ['5.1', 'CONTINUATION on an idle stream', [continuation(1, END_HEADERS, block(get))], fails('PROTOCOL_ERROR')],
  ['5.1', 'PRIORITY on an idle stream is ignored', [priority(1, 0), ping()], ['PING ACK 12345678']],
  ['5.1', 'DATA on a half-closed stream', [call(1, NEVER), data(1, 'a')], resets(1, 'STREAM_CLOSED')],
  [
    '5.1',
    'HEADERS on a half-closed stream',
    [call(1, NEVER), headers(1, { a: 'b' }, END_HEADERS | END_STREAM)],
    resets(1, 'STREAM_CLOSED'),
  ],
  [
    '5.1',
    'PRIORITY, WINDOW_UPDATE and RST_STREAM on a half-closed stream are taken',
    [call(1, NEVER), priority(1, 0), windowUpdate(1, 1), reset(1), ping()],
    ['PING ACK 12345678'],
  ],
  ['5.1', 'DATA on an ended stream', [closed(1), data(1, 'a')], [...answered(1, 'a'), ...fails('STREAM_CLOSED', 1)]],
  [
    '5.1',
    'HEADERS on an ended stream',
    [closed(1), headers(1, { a: 'b' }, END_HEADERS | END_STREAM)],
    [...answered(1, 'a'), ...fails('STREAM_CLOSED', 1)],
  ],
  [
    '5.1',
    'PRIORITY, WINDOW_UPDATE and RST_STREAM on an ended stream are ignored',
    [closed(1), priority(1, 0), windowUpdate(1, 1), reset(1), ping()],
    [...answered(1, 'a'), 'PING ACK 12345678'],
  ],
  ['5.1', 'DATA on a stream that the client reset', [open(1), reset(1), data(1, 'a')], resets(1, 'STREAM_CLOSED')],
  [
    '5.1',
    'HEADERS on a stream that the client reset',
    [open(1), reset(1), headers(1, { a: 'b' }, END_HEADERS | END_STREAM)],
    resets(1, 'STREAM_CLOSED'),
  ],
  [
    '5.1',
    'frames on a stream that the server reset are ignored',
    [open(1), windowUpdate(1, 0), data(1, 'a'), headers(1, { a: 'b' }, END_HEADERS | END_STREAM), reset(1), ping()],
    [...resets(1, 'PROTOCOL_ERROR'), 'PING ACK 12345678'],
  ],
  ['5.1.1', 'a stream with an even number', [headers(2, get)], fails('PROTOCOL_ERROR')],
  [
    '5.1.1',
    'a stream with a number below an earlier one',
    [headers(5, get, END_HEADERS | END_STREAM), headers(3, get, END_HEADERS | END_STREAM)],
    [...refusedMethod(5), ...fails('PROTOCOL_ERROR', 5)],
  ],
])

rows('5.3, priorities', [
  ['5.3.1', 'PRIORITY that depends on itself', [open(1), priority(1, 1)], resets(1, 'PROTOCOL_ERROR')],
  ['5.3.1', 'PRIORITY on an idle stream that depends on itself', [priority(1, 1)], fails('PROTOCOL_ERROR')],
  [
    '5.3.1',
    'HEADERS that depend on themselves',
    [frame(1, END_HEADERS | PRIORITY, 1, Buffer.concat([uint32(1), Buffer.of(0), block(get)]))],
    resets(1, 'PROTOCOL_ERROR'),
  ],
])

rows('6.1, DATA', [
  ['6.1', 'DATA on stream 0', [data(0, 'a')], fails('PROTOCOL_ERROR')],
  [
    '6.1',
    'padding is left out',
    [headers(1, callFields(ECHO)), data(1, Buffer.of(3, ...message('hi'), 0, 0, 0), END_STREAM | PADDED)],
    answered(1, 'hi'),
  ],
  [
    '6.1',
    'padding longer than its frame',
    [open(1), data(1, Buffer.of(4, 1, 2, 3), PADDED)],
    fails('PROTOCOL_ERROR', 1),
  ],
  ['6.1', 'padding without its length', [open(1), data(1, Buffer.of(), PADDED)], fails('FRAME_SIZE_ERROR', 1)],
  [
    '6.1',
    'a frame of nothing but padding is empty',
    [headers(1, callFields(ECHO)), data(1, Buffer.of(1, 0), PADDED), data(1, message('hi'), END_STREAM)],
    answered(1, 'hi'),
  ],
])

rows('6.2, HEADERS', [
  ['6.2', 'HEADERS on stream 0', [headers(0, get)], fails('PROTOCOL_ERROR')],
  [
    '6.2',
    'padding and priority are left out',
    [frame(1, 0x2d, 1, Buffer.concat([Buffer.of(2), uint32(0), Buffer.of(1), block(get), Buffer.of(0, 0)]))],
    refusedMethod(1),
  ],
  [
    '6.2',
    'padding longer than its frame',
    [frame(1, END_HEADERS | PADDED, 1, Buffer.concat([Buffer.of(200), block(get)]))],
    fails('PROTOCOL_ERROR'),
  ],
  ['6.2', 'priority without its length', [frame(1, END_HEADERS | PRIORITY, 1, uint32(3))], fails('FRAME_SIZE_ERROR')],
])

rows('6.3 to 6.5, PRIORITY, RST_STREAM and SETTINGS', [
  ['6.3', 'PRIORITY on stream 0', [priority(0, 1)], fails('PROTOCOL_ERROR')],
  ['6.3', 'PRIORITY of 4 bytes', [open(1), frame(2, 0, 1, uint32(3))], resets(1, 'FRAME_SIZE_ERROR')],
  [
    '6.3',
    'PRIORITY of 4 bytes on an ended stream',
    [closed(1), frame(2, 0, 1, uint32(3))],
    [...answered(1, 'a'), ...resets(1, 'FRAME_SIZE_ERROR')],
  ],
  ['6.4', 'RST_STREAM on stream 0', [reset(0)], fails('PROTOCOL_ERROR')],
  ['6.4', 'RST_STREAM of 3 bytes', [open(1), frame(3, 0, 1, Buffer.alloc(3))], fails('FRAME_SIZE_ERROR', 1)],
  ['6.5', 'SETTINGS on a stream', [frame(4, 0, 1)], fails('PROTOCOL_ERROR')],
  ['6.5', 'SETTINGS of 3 bytes', [frame(4, 0, 0, Buffer.alloc(3))], fails('FRAME_SIZE_ERROR')],
  ['6.5', 'an acknowledgement with content', [frame(4, ACK, 0, Buffer.alloc(6))], fails('FRAME_SIZE_ERROR')],
  ['6.5.2', 'ENABLE_PUSH of 2', [settings([2, 2])], ['SETTINGS ACK', ...fails('PROTOCOL_ERROR')]],
  ['6.5.2', 'a window of 2^31', [settings([4, 0x8000_0000])], ['SETTINGS ACK', ...fails('FLOW_CONTROL_ERROR')]],
  ['6.5.2', 'frames of at most 16,383 bytes', [settings([5, 16_383])], ['SETTINGS ACK', ...fails('PROTOCOL_ERROR')]],
  ['6.5.2', 'frames of at most 2^24 bytes', [settings([5, 16_777_216])], ['SETTINGS ACK', ...fails('PROTOCOL_ERROR')]],
  ['6.5.2', 'an unknown setting is ignored', [settings([99, 1]), ping()], ['SETTINGS ACK', 'PING ACK 12345678']],
])

rows('6.6 to 6.8, PUSH_PROMISE, PING and GOAWAY', [
  ['6.6', 'PUSH_PROMISE', [frame(5, END_HEADERS, 1, Buffer.concat([uint32(2), block(get)]))], fails('PROTOCOL_ERROR')],
  ['6.7', 'PING is answered with what it holds', [ping('deadbeef')], ['PING ACK deadbeef']],
  ['6.7', 'an answer to a PING is not answered', [ping('deadbeef', ACK)], []],
  ['6.7', 'PING on a stream', [frame(6, 0, 1, Buffer.alloc(8))], fails('PROTOCOL_ERROR')],
  ['6.7', 'PING of 6 bytes', [frame(6, 0, 0, Buffer.alloc(6))], fails('FRAME_SIZE_ERROR')],
  ['6.8', 'GOAWAY on a stream', [frame(7, 0, 1, Buffer.alloc(8))], fails('PROTOCOL_ERROR')],
  ['6.8', 'GOAWAY of 7 bytes', [frame(7, 0, 0, Buffer.alloc(7))], fails('FRAME_SIZE_ERROR')],
  ['6.8', 'GOAWAY ends a connection without calls', [goaway()], fails('NO_ERROR')],
])

rows('6.9, WINDOW_UPDATE', [
  ['6.9', 'an increment of 0 on the connection', [windowUpdate(0, 0)], fails('PROTOCOL_ERROR')],
  ['6.9', 'an increment of 0 on a stream', [open(1), windowUpdate(1, 0)], resets(1, 'PROTOCOL_ERROR')],
  ['6.9', 'WINDOW_UPDATE of 3 bytes', [frame(8, 0, 0, Buffer.alloc(3))], fails('FRAME_SIZE_ERROR')],
  ['6.9.1', 'a window of the connection above 2^31-1', [windowUpdate(0, 0x7fff_ffff)], fails('FLOW_CONTROL_ERROR')],
  [
    '6.9.1',
    'a window of a stream above 2^31-1',
    [open(1), windowUpdate(1, 0x7fff_ffff)],
    resets(1, 'FLOW_CONTROL_ERROR'),
  ],
  [
    '6.9.2',
    'an initial window that takes a stream above 2^31-1',
    [call(1, NEVER), windowUpdate(1, 1), settings([4, 0x7fff_ffff])],
    ['SETTINGS ACK', ...fails('FLOW_CONTROL_ERROR', 1)],
  ],
])

rows('6.10, CONTINUATION', [
  [
    '6.10',
    'a block in three frames is read',
    [
      frame(FrameType.HEADERS, END_STREAM, 1, block(get).subarray(0, 3)),
      continuation(1, 0, block(get).subarray(3, 4)),
      continuation(1, END_HEADERS, block(get).subarray(4)),
    ],
    refusedMethod(1),
  ],
  ['6.10', 'CONTINUATION on stream 0', [open(1), continuation(0, END_HEADERS, block(get))], fails('PROTOCOL_ERROR', 1)],
  [
    '6.10',
    'CONTINUATION of another stream',
    [headers(1, get, 0), continuation(3, END_HEADERS, block(get))],
    fails('PROTOCOL_ERROR'),
  ],
  [
    '6.10',
    'CONTINUATION after the end of a block',
    [open(1), continuation(1, END_HEADERS, block({ a: 'b' }))],
    fails('PROTOCOL_ERROR', 1),
  ],
  [
    '6.10',
    'CONTINUATION after DATA',
    [open(1), data(1, ''), continuation(1, 4, block(get))],
    fails('PROTOCOL_ERROR', 1),
  ],
])

const post: Fields = { ':method': 'POST', ':scheme': 'http', ':path': '/', ':authority': 'test' }
const withFields = (...more: (readonly [string, string])[]): Buffer =>
  headers(1, [...Object.entries(get), ...more], END_HEADERS | END_STREAM)
const without = (name: string): Buffer =>
  headers(
    1,
    Object.entries(get).filter(([each]) => each !== name),
    END_HEADERS | END_STREAM,
  )
const malformed = resets(1, 'PROTOCOL_ERROR')

rows('8.1, requests', [
  ['8.1', 'trailers that do not end their stream', [open(1), headers(1, { a: 'b' })], malformed],
  [
    '8.1',
    'trailers end a request',
    [headers(1, callFields(ECHO)), data(1, message('hi')), headers(1, { a: 'b' }, END_HEADERS | END_STREAM)],
    answered(1, 'hi'),
  ],
  [
    '8.1',
    'trailers with a pseudo-header field',
    [open(1), headers(1, { ':method': 'GET' }, END_HEADERS | END_STREAM)],
    malformed,
  ],
  ['8.1.1', 'DATA above content-length', [headers(1, { ...post, 'content-length': '1' }), data(1, 'ab', 1)], malformed],
  ['8.1.1', 'DATA below content-length', [headers(1, { ...post, 'content-length': '3' }), data(1, 'ab', 1)], malformed],
  [
    '8.1.1',
    'DATA in two frames that do not make content-length',
    [headers(1, { ...post, 'content-length': '3' }), data(1, 'a'), data(1, 'a', END_STREAM)],
    malformed,
  ],
  ['8.1.1', 'no DATA but a content-length', [headers(1, { ...post, 'content-length': '3' }, 5)], malformed],
  ['8.1.1', 'a content-length that is no number', [headers(1, { ...post, 'content-length': '+1' })], malformed],
])

rows('8.2, fields', [
  ['8.2.1', 'a name in capitals', [withFields(['X-Test', 'ok'])], malformed],
  ['8.2.1', 'a name with a space', [withFields(['x test', 'ok'])], malformed],
  ['8.2.1', 'a name with a colon', [withFields(['x:test', 'ok'])], malformed],
  ['8.2.1', 'an empty name', [withFields(['', 'ok'])], malformed],
  ['8.2.1', 'a name with a byte above 0x7f', [withFields(['x\xe4', 'ok'])], malformed],
  ['8.2.1', 'a value with a line break', [withFields(['x', 'a\nb'])], malformed],
  ['8.2.1', 'a value with CR', [withFields(['x', 'a\rb'])], malformed],
  ['8.2.1', 'a value with NUL', [withFields(['x', 'a\0b'])], malformed],
  ['8.2.1', 'a value that begins with a space', [withFields(['x', ' a'])], malformed],
  ['8.2.1', 'a value that ends with a tab', [withFields(['x', 'a\t'])], malformed],
  ...['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade'].map(
    (name): Row => ['8.2.2', `the field ${name}`, [withFields([name, 'close'])], malformed],
  ),
  ['8.2.2', 'te with another value than trailers', [withFields(['te', 'trailers, deflate'])], malformed],
  ['8.2.2', 'te: trailers is taken', [withFields(['te', 'trailers'])], refusedMethod(1)],
])

rows('8.3, pseudo-header fields', [
  ['8.3', 'an unknown one', [headers(1, [[':test', 'ok'], ...Object.entries(get)], 5)], malformed],
  ['8.3', 'one of responses', [headers(1, [[':status', '200'], ...Object.entries(get)], 5)], malformed],
  ['8.3', 'one after a regular field', [headers(1, [['x-test', 'ok'], ...Object.entries(get)], 5)], malformed],
  ...[':method', ':scheme', ':path', ':authority'].map(
    (name): Row => ['8.3', `${name} twice`, [headers(1, [...Object.entries(get), [name, 'x']], 5)], malformed],
  ),
  ...[':method', ':scheme', ':path'].map((name): Row => ['8.3.1', `no ${name}`, [without(name)], malformed]),
  ['8.3.1', 'no :authority is taken', [without(':authority')], refusedMethod(1)],
  ['8.3.1', 'an empty :path', [headers(1, { ...get, ':path': '' }, 5)], malformed],
  ['8.3.1', 'a :path without a slash', [headers(1, { ...get, ':path': 'a/b' }, 5)], malformed],
  ['8.3.1', 'OPTIONS * is taken', [headers(1, { ...get, ':method': 'OPTIONS', ':path': '*' }, 5)], refusedMethod(1)],
  ['8.3.1', 'a host that differs from :authority', [withFields(['host', 'other'])], malformed],
  ['8.3.1', 'a host that is :authority in capitals is taken', [withFields(['host', 'TEST'])], refusedMethod(1)],
  ['8.5', 'CONNECT with a :path', [headers(1, { ...get, ':method': 'CONNECT' }, 5)], malformed],
  ['8.5', 'CONNECT without :authority', [headers(1, { ':method': 'CONNECT' }, 5)], malformed],
  ['8.5', 'CONNECT as it should be', [headers(1, { ':method': 'CONNECT', ':authority': 'a:1' }, 5)], refusedMethod(1)],
])

describe('limits that the server has announced', () => {
  it('5.1.2: a stream above SETTINGS_MAX_CONCURRENT_STREAMS is refused, and the next one is not', async () => {
    const server = new GrpcServer({ limits: { maxConcurrentStreams: 2 } })
    server.unary(ECHO, (call) => call.respond(call.message)).unary(NEVER, () => {})
    const client = await ScriptedClient.connect(server)
    await client.received()
    const refused = await client.send(call(1, NEVER), call(3, NEVER), call(5, ECHO, 'a'))
    expect(refused).toEqual(['RST_STREAM 5 REFUSED_STREAM'])
    expect(await client.send(reset(1), call(7, ECHO, 'b'))).toEqual(answered(7, 'b'))
  })

  it('6.9.1: DATA above the window of a stream resets it', async () => {
    const server = new GrpcServer({ limits: { maxMessageBytes: 10 } })
    server.unary(ECHO, (call) => call.respond(call.message))
    const client = await ScriptedClient.connect(server)
    await client.received()
    const padded = data(1, Buffer.concat([Buffer.of(20), message('a').subarray(0, 3), Buffer.alloc(20)]), PADDED)
    expect(await client.send(headers(1, callFields(ECHO)), padded, padded)).toEqual(resets(1, 'FLOW_CONTROL_ERROR'))
  })

  it('6.9.1: DATA above the window of the connection ends it', async () => {
    const server = new GrpcServer({ limits: { connectionWindowBytes: 65_535, maxMessageBytes: 1_000_000 } })
    server.unary(ECHO, (call) => call.respond(call.message))
    const client = await ScriptedClient.connect(server)
    await client.received()
    const chunk = data(1, Buffer.alloc(16_384, 1))
    const first = Buffer.concat([Buffer.of(0), uint32(1_000_000), Buffer.alloc(16_379)])
    const lines = await client.send(headers(1, callFields(ECHO)), data(1, first), chunk, chunk, chunk, chunk)
    expect(lines).toEqual(fails('FLOW_CONTROL_ERROR', 1))
  })

  it('6.9.1: DATA may fill the window of the connection to the last byte', async () => {
    const server = new GrpcServer({ limits: { connectionWindowBytes: 65_535, maxMessageBytes: 1_000_000 } })
    server.unary(ECHO, (call) => call.respond(call.message))
    const client = await ScriptedClient.connect(server)
    await client.received()
    const bytes = message(Buffer.alloc(65_530))
    const frames = [0, 16_384, 32_768, 49_152].map((at) => data(1, bytes.subarray(at, at + 16_384)))
    expect(await client.send(headers(1, callFields(ECHO)), ...frames)).toEqual(['WINDOW_UPDATE 0 65535'])
  })

  it('6.9.1: the window of the connection is opened again when half of it is used', async () => {
    const client = await ScriptedClient.connect(testServer())
    await client.received()
    const text = 'x'.repeat(16_000)
    const calls = Array.from({ length: 33 }, (_, i) => call(2 * i + 1, NEVER, text))
    expect(await client.send(...calls)).toEqual(['WINDOW_UPDATE 0 528165'])
    const more = Array.from({ length: 33 }, (_, i) => call(2 * i + 67, NEVER, text))
    expect(await client.send(...more)).toEqual(['WINDOW_UPDATE 0 528165'])
  })

  it('6.8: streams above the last one of a GOAWAY are ignored, and headers stay in step', async () => {
    const server = testServer()
    const client = await ScriptedClient.connect(server)
    await client.send(call(1, NEVER))
    const end = server.drain(60_000)
    expect(await client.received()).toEqual(['GOAWAY 2147483647 NO_ERROR', 'PING goodbye!'])
    expect(await client.send(call(3, ECHO, 'late'))).toEqual(answered(3, 'late'))
    expect(await client.send(ping('goodbye!', ACK))).toEqual(['GOAWAY 3 NO_ERROR'])
    expect(await client.send(call(5, ECHO, 'later'), windowUpdate(5, 1), reset(5))).toEqual([])
    expect(await client.send(reset(1))).toEqual([])
    expect(client.ended).toBe(true)
    await client.leave()
    await end
  })

  it('6.8: no GOAWAY names a higher stream than the one before it, whatever the client has opened since', async () => {
    const server = testServer()
    const client = await ScriptedClient.connect(server)
    await client.send(call(1, NEVER))
    const end = server.drain(60_000)
    expect(await client.send(ping('goodbye!', ACK))).toEqual([
      'GOAWAY 2147483647 NO_ERROR',
      'PING goodbye!',
      'GOAWAY 1 NO_ERROR',
    ])
    expect(await client.send(call(3, ECHO, 'late'))).toEqual([])
    expect(await client.send(ping('goodbye!', ACK))).toEqual([])
    expect(await client.send(windowUpdate(0, 0))).toEqual(['GOAWAY 1 PROTOCOL_ERROR'])
    await client.leave()
    await end
  })
})
