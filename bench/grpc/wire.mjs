import { HpackDecoder } from '../../server/dist/grpc/hpack/hpack-decoder.js'
import { HpackEncoder, mostEncodedBytes } from '../../server/dist/grpc/hpack/hpack-encoder.js'

export const METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'
/** A method that never answers: for counting what an open call costs. */
export const HOLD = '/bench.Bench/Hold'

const text = (field, value) => Buffer.concat([Buffer.of((field << 3) | 2, value.length), Buffer.from(value)])

/** What Envoy asks for one descriptor of one entry; ANSWER is its `overall_code: OK`. */
export const REQUEST = Buffer.concat([
  text(1, 'envoy'),
  text(2, text(1, Buffer.concat([text(1, 'api_key'), text(2, 'sk_live_7d1f0b6a2c9e4853d0f7a1b6')]))),
])
export const ANSWER = Buffer.of(0x08, 0x01)

export const DATA = 0
export const HEADERS = 1
export const RST_STREAM = 3
export const SETTINGS = 4
export const PING = 6
export const WINDOW_UPDATE = 8
export const END_STREAM = 0x1
export const ACK = 0x1
export const END_HEADERS = 0x4
export const FRAME_HEAD = 9

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const bytes = Buffer.alloc(FRAME_HEAD + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes[3] = type
  bytes[4] = flags
  bytes.writeUInt32BE(stream, 5)
  payload.copy(bytes, FRAME_HEAD)
  return bytes
}

const uint32 = (value) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Begins a connection: the preface, default settings, and a window that answers will not fill. */
export const OPENING = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(SETTINGS, 0, 0),
  frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1 - 65_535)),
])

/** The fields that gRPC clients send. The timeout is the same each time, as Envoy's is. */
const fields = (path) =>
  Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'ratelimit.internal:8081',
    te: 'trailers',
    'content-type': 'application/grpc',
    'user-agent': 'grpc-bench/1.0',
    'grpc-accept-encoding': 'identity,deflate,gzip',
    'grpc-timeout': '20S',
  }).map(([name, value]) => ({ name, value }))

/**
 * Returns a call as bytes: the first of a connection, which puts its fields into the table of the peer, and every later
 * one, which refers to them. The stream's number is to be written at the offsets; the message begins at its own.
 */
export function requestsFor(path, request) {
  const encoder = new HpackEncoder()
  const message = Buffer.concat([Buffer.of(0), uint32(request.length), request])
  const next = () => {
    const list = fields(path)
    const out = Buffer.alloc(mostEncodedBytes(list))
    const block = out.subarray(0, encoder.encode(list, out, 0))
    const head = frame(HEADERS, END_HEADERS, 0, block)
    const bytes = Buffer.concat([head, frame(DATA, END_STREAM, 0, message)])
    const messageOffset = bytes.length - request.length
    return { bytes, idOffsets: [5, head.length + 5], messageOffset, dataBytes: message.length }
  }
  return { first: next(), later: next() }
}

/** Reads `grpc-status` out of a header block, or returns undefined. */
export function statusOf(decoder, block) {
  let status
  decoder.decode(block, 0, block.length, (name, value) => {
    if (name === 'grpc-status') status = value
  })
  return status
}

export const newDecoder = () => new HpackDecoder(4096, { maxListBytes: 65_536, maxFields: 100 })
