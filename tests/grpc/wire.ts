import { HpackDecoder } from '../../server/src/grpc/hpack/hpack-decoder.ts'
import { encodedOnce, type HeaderField } from '../../server/src/grpc/hpack/hpack-encoder.ts'

// HTTP/2 and gRPC as bytes, for tests that send what no proper client sends.

export const Type = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const

export const END_STREAM = 0x1
export const ACK = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8
export const PRIORITIZED = 0x20

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => {
    bytes.writeUInt32BE(value, 4 * i)
  })
  return bytes
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length)
  pairs.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, 6 * i)
    payload.writeUInt32BE(value, 6 * i + 2)
  })
  return frame(Type.SETTINGS, 0, 0, payload)
}

/** Splits bytes into whole frames, and returns what is left behind the last one. */
export function cut(bytes: Buffer): { frames: Frame[]; rest: Buffer } {
  const frames: Frame[] = []
  let at = 0
  while (bytes.length - at >= 9) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    if (end > bytes.length) break
    const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff
    frames.push({ type: bytes[at + 3], flags: bytes[at + 4], stream, payload: bytes.subarray(at + 9, end) })
    at = end
  }
  return { frames, rest: bytes.subarray(at) }
}

export const callFields = (path: string, more: Readonly<Record<string, string>> = {}): HeaderField[] =>
  Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': path,
    ':authority': 'localhost',
    te: 'trailers',
    'content-type': 'application/grpc',
    ...more,
  }).map(([name, value]) => ({ name, value }))

/** Puts the five bytes of gRPC in front of a message. */
export const prefixed = (message: Uint8Array): Buffer => Buffer.concat([Buffer.of(0), uint32(message.length), message])

/** A whole unary call: its headers, without use of the table, and its message. */
export const call = (stream: number, path: string, message: Uint8Array): Buffer =>
  Buffer.concat([
    frame(Type.HEADERS, END_HEADERS, stream, encodedOnce(callFields(path))),
    frame(Type.DATA, END_STREAM, stream, prefixed(message)),
  ])

/** What came back on a stream. */
export interface Answer {
  readonly headers: string[]
  readonly data: Buffer
  readonly trailers: string[]
  /** The error code of RST_STREAM, if there was one. */
  readonly reset?: number
}

/** Reads all answers in a server's frames; header lists without an end of the stream are its headers. */
export function answersOf(frames: readonly Frame[]): Map<number, Answer> {
  const decoder = new HpackDecoder(4096, { maxListBytes: 1 << 20, maxFields: 1000 })
  const answers = new Map<number, { headers: string[]; data: Buffer; trailers: string[]; reset?: number }>()
  const of = (stream: number) => {
    const answer = answers.get(stream) ?? { headers: [], data: Buffer.alloc(0), trailers: [] }
    answers.set(stream, answer)
    return answer
  }
  let block: { bytes: Buffer; flags: number } | undefined
  for (const { type, flags, stream, payload } of frames) {
    if (type === Type.DATA) of(stream).data = Buffer.concat([of(stream).data, payload])
    else if (type === Type.RST_STREAM) of(stream).reset = payload.readUInt32BE(0)
    else if (type === Type.HEADERS) block = { bytes: payload, flags }
    else if (type === Type.CONTINUATION && block !== undefined) {
      block = { bytes: Buffer.concat([block.bytes, payload]), flags: block.flags }
    }
    if (block === undefined || (flags & END_HEADERS) === 0) continue
    const { bytes } = block
    const list = (block.flags & END_STREAM) === 0 ? of(stream).headers : of(stream).trailers
    block = undefined
    decoder.decode(bytes, 0, bytes.length, (name, value) => list.push(`${name}: ${value}`))
  }
  return answers
}
