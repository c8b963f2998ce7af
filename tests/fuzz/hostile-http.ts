import { encodedOnce } from '../../server/src/grpc/hpack/hpack-encoder.ts'
import { END_HEADERS, END_STREAM, frame, PREFACE, settings, Type, uint32 } from '../grpc/wire.ts'
import type { Random } from './random.ts'

/** What one client sends, in the pieces in which it sends it. */
export interface Conversation {
  readonly pieces: readonly Buffer[]
  /** Bytes were changed at random: what is whose, no one knows. */
  readonly isDamaged: boolean
}

const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
const SOCKET = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', KEY]

/** What is in the path, a field and the body of one request, and in no other. */
const mark = (id: number): string => `mark-${id}-${checkOf(id)}-`

/** The ids of the marks in a text. One that was damaged is none, and not that of another request. */
export function marksIn(text: string): number[] {
  const found = [...text.matchAll(/mark-(\d+)-(\d+)-/g)].map(([, id, check]) => [Number(id), Number(check)] as const)
  return found.filter(([id, check]) => checkOf(id) === check).map(([id]) => id)
}

const checkOf = (id: number): number => 100 + ((id * 7_919) % 887)
/** What a smuggler hides. It has the mark of the request in which it is. */
const smuggled = (id: number): string =>
  `POST /smuggled-${mark(id)} HTTP/1.1\r\nHost: evil\r\nContent-Length: 0\r\n\r\n`

/** Fields that say, or seem to say, how long a body is, and where a message goes. */
const TRICKS: readonly string[] = [
  ...['Content-Length: 0', 'Content-Length: 5', 'Content-Length: 005', 'Content-Length: +5', 'Content-Length: 5, 5'],
  ...['Content-Length:', 'Content-Length: 5 5', 'Content_Length: 5', 'Content-Length : 5', ' Content-Length: 5'],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: Chunked', 'Transfer-Encoding: gzip, chunked'],
  ...['Transfer-Encoding: xchunked', 'Transfer-Encoding:', 'Transfer-Encoding : chunked', 'Transfer_Encoding: chunked'],
  ...['Transfer-Encoding: identity', 'Transfer-Encoding: chunked, identity', 'Transfer-Encoding:\tchunked'],
  ...['X: a\rTransfer-Encoding: chunked', 'X: a\nTransfer-Encoding: chunked', 'X: a\r\n Transfer-Encoding: chunked'],
  ...['Connection: Content-Length', 'Connection: Transfer-Encoding', 'Connection: close', 'Connection: X-Mark, Host'],
  ...['Expect: 100-continue', 'Expect: x', 'TE: trailers', 'Upgrade: h2c', 'Host: b', 'Host:', 'X:\u0000', ': x', 'x'],
  ...['Max-Forwards: 0', 'X-Forwarded-For: 6.6.6.6', 'Keep-Alive: timeout=1', 'Proxy-Connection: close', KEY],
]
const METHODS = ['GET', 'GET', 'POST', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'PATCH', 'get', 'CONNECT', 'TRACE']
const ENDS = ['\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n\r\n', '']

function targetOf(random: Random, id: number): string {
  const path = `/${mark(id)}`
  if (random.chance(0.85)) return path
  return random.pick([
    `http://a.example${path}`,
    `//evil${path}`,
    `${path}#x`,
    `${path}?a=b HTTP/1.1`,
    `\\${path}`,
    '*',
  ])
}

function chunksOf(random: Random, body: string): string {
  const size = body.length.toString(16)
  const last = random.pick([
    '0\r\n\r\n',
    '0\r\n\r\n',
    '0\r\nX-Trailer: 1\r\n\r\n',
    '00\r\n\r\n',
    '0;x\r\n\r\n',
    '0\r\nHost: b\r\n\r\n',
  ])
  const first = random.pick([size, size, size, size.toUpperCase(), `${size};a=b`, `0${size}`, `${size} `, `0x${size}`])
  return `${first}\r\n${body}\r\n${last}`
}

/** A request that is nearly right. */
function http1Request(random: Random, id: number): string {
  const end = (): string => (random.chance(0.97) ? '\r\n' : random.pick(ENDS))
  const fields = ['Host: a.example', `X-Mark: ${mark(id)}`]
  const isSocket = random.chance(0.15)
  let body = isSocket || random.chance(0.3) ? '' : random.chance(0.4) ? smuggled(id) : `body ${mark(id)}`
  if (isSocket) fields.push(...SOCKET)
  else if (body !== '' && random.chance(0.4)) {
    fields.push('Transfer-Encoding: chunked')
    body = chunksOf(random, body)
  } else if (body !== '') fields.push(`Content-Length: ${body.length}`)
  while (random.chance(0.3)) fields.splice(random.below(fields.length + 1), 0, random.pick(TRICKS))
  const method = isSocket && random.chance(0.9) ? 'GET' : random.pick(METHODS)
  const version = random.chance(0.95) ? 'HTTP/1.1' : random.pick(['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', ''])
  const line = `${method} ${targetOf(random, id)} ${version}`
  const behind = isSocket || random.chance(0.1) ? smuggled(id).repeat(random.below(3)) : ''
  return `${line}${end()}${fields.map((field) => field + end()).join('')}\r\n${body}${behind}`
}

/** A request of HTTP/2 in frames that are nearly right. */
function http2Request(random: Random, id: number, stream: number): Buffer {
  const isSocket = random.chance(0.35)
  const method = isSocket ? 'CONNECT' : random.pick(METHODS)
  const body = random.chance(0.5) ? smuggled(id).repeat(1 + random.below(3)) : `body ${mark(id)}`
  const fields: [string, string][] = [
    [':method', method],
    [':scheme', 'http'],
    [':authority', 'a.example'],
    [':path', targetOf(random, id)],
    ...(isSocket ? ([[':protocol', random.chance(0.95) ? 'websocket' : 'x']] as [string, string][]) : []),
    ['x-mark', mark(id)],
  ]
  while (random.chance(0.3)) {
    const [name = '', value = ''] = random.pick(TRICKS).split(/:(.*)/s)
    fields.push([random.chance(0.8) ? name.toLowerCase() : name, random.chance(0.9) ? value.trim() : value])
  }
  if (random.chance(0.2)) fields.push(['content-length', String(random.pick([body.length, body.length - 1, 0, 7]))])
  const block = encodedOnce(fields.map(([name, value]) => ({ name, value })))
  const hasEnded = random.chance(0.15)
  const parts = [frame(Type.HEADERS, END_HEADERS | (hasEnded ? END_STREAM : 0), stream, block)]
  if (!hasEnded || random.chance(0.1)) {
    const at = random.below(body.length)
    const isLast = random.chance(0.8)
    parts.push(frame(Type.DATA, 0, stream, Buffer.from(body.slice(0, at))))
    parts.push(frame(Type.DATA, isLast ? END_STREAM : 0, stream, Buffer.from(body.slice(at))))
    if (!isLast && random.chance(0.5)) {
      const trailer = random.pick(['x-trailer', 'content-length', 'transfer-encoding', 'host', ':path'])
      const trailers = encodedOnce([{ name: trailer, value: '5' }])
      parts.push(frame(Type.HEADERS, END_HEADERS | END_STREAM, stream, trailers))
    }
  }
  if (random.chance(0.1)) parts.push(frame(Type.RST_STREAM, 0, stream, uint32(random.pick([0, 8]))))
  return Buffer.concat(parts)
}

/** What a client of a seed sends. Each request has an id of its own. */
export function conversation(random: Random, nextId: () => number): Conversation {
  const count = 1 + random.below(4)
  const isHttp2 = random.chance(0.5)
  const requests = Array.from({ length: count }, (_, i) =>
    isHttp2 ? http2Request(random, nextId(), 2 * i + 1) : Buffer.from(http1Request(random, nextId()), 'latin1'),
  )
  let bytes: Buffer = Buffer.concat(isHttp2 ? [PREFACE, settings(), ...requests] : requests)
  const isDamaged = random.chance(0.25)
  if (isDamaged) bytes = damaged(random, bytes, isHttp2 ? PREFACE.length : 0)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = random.chance(0.5) ? bytes.length : at + 1 + random.below(bytes.length - at)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return { pieces, isDamaged }
}

const SIGNS = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  '\u0000',
  ':',
  ';',
  ',',
  '0',
  '\u000b',
  '\u0085',
  '\u00a0',
  '"',
  '/',
  '\u00ff',
]

/** damaged changes, takes out or puts in a few bytes from `from` on. */
function damaged(random: Random, bytes: Buffer, from: number): Buffer {
  let out: Buffer = bytes
  for (let n = 1 + random.below(3); n > 0; n--) {
    const at = from + random.below(out.length - from)
    const [before, after] = [out.subarray(0, at), out.subarray(at)]
    const kind = random.below(4)
    if (kind === 0) out = Buffer.concat([before, after.subarray(1)])
    else if (kind === 1) out = Buffer.concat([before, Buffer.from(random.pick(SIGNS), 'latin1'), after])
    else if (kind === 2) out = Buffer.concat([before, random.bytes(1), after.subarray(1)])
    else out = Buffer.concat([before, after.subarray(0, 1 + random.below(40)), after])
  }
  return out
}
