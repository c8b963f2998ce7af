import { ErrorCode, Flag, FrameType, PREFACE, readUint31, readUint32, writeFrameHead, writeUint32 } from './frames.ts'
import type { HpackDecoder } from './hpack/hpack-decoder.ts'
import { encodedOnce } from './hpack/hpack-encoder.ts'

/** Names and values; an array where a name comes twice or the order matters. */
export type Fields = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

export const { END_STREAM, END_HEADERS, PADDED, PRIORITY, ACK } = Flag
export const preface: Buffer = Buffer.from(PREFACE)

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const out = Buffer.alloc(9 + payload.length)
  out.set(payload, writeFrameHead(out, 0, { length: payload.length, type, flags, streamId }))
  return out
}

export function uint32(...values: number[]): Buffer {
  const out = Buffer.alloc(4 * values.length)
  for (const [i, value] of values.entries()) writeUint32(out, 4 * i, value)
  return out
}

/** Encodes fields without a table, so that it means the same wherever it is sent. */
export function block(fields: Fields): Buffer {
  const pairs = Array.isArray(fields) ? (fields as readonly (readonly [string, string])[]) : Object.entries(fields)
  return Buffer.from(encodedOnce(pairs.map(([name, value]) => ({ name, value }))))
}

export const headers = (id: number, fields: Fields, flags: number = END_HEADERS): Buffer =>
  frame(FrameType.HEADERS, flags, id, block(fields))
export const continuation = (id: number, flags: number, payload: Uint8Array): Buffer =>
  frame(FrameType.CONTINUATION, flags, id, payload)
export const data = (id: number, payload: Uint8Array | string, flags = 0): Buffer =>
  frame(FrameType.DATA, flags, id, typeof payload === 'string' ? Buffer.from(payload) : payload)
export const reset = (id: number, code: number = ErrorCode.CANCEL): Buffer =>
  frame(FrameType.RST_STREAM, 0, id, uint32(code))
export const windowUpdate = (id: number, increment: number): Buffer =>
  frame(FrameType.WINDOW_UPDATE, 0, id, uint32(increment))
export const ping = (text = '12345678', flags = 0): Buffer => frame(FrameType.PING, flags, 0, Buffer.from(text))
export const goaway = (lastId = 0, code: number = ErrorCode.NO_ERROR): Buffer =>
  frame(FrameType.GOAWAY, 0, 0, uint32(lastId, code))
export const priority = (id: number, dependsOn: number): Buffer =>
  frame(FrameType.PRIORITY, 0, id, Buffer.concat([uint32(dependsOn), Buffer.of(16)]))

/** Takes pairs of identifier and value. */
export function settings(...pairs: (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.of(0, id), uint32(value)])))
  return frame(FrameType.SETTINGS, 0, 0, payload)
}
export const settingsAck: Buffer = frame(FrameType.SETTINGS, ACK, 0)

/** Returns a text behind the prefix of gRPC. */
export const message = (text: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(0), uint32(text.length), Buffer.from(text as string)])

/** Returns those of a call; more may be added. */
export const callFields = (path: string, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ':method': 'POST',
  ':scheme': 'http',
  ':path': path,
  ':authority': 'test',
  'content-type': 'application/grpc',
  te: 'trailers',
  ...more,
})

/** Returns a whole unary call. */
export const call = (id: number, path: string, text = '', more: Readonly<Record<string, string>> = {}): Buffer =>
  Buffer.concat([headers(id, callFields(path, more)), data(id, message(text), END_STREAM)])

const TYPE_NAMES = Object.keys(FrameType)
const CODE_NAMES = Object.keys(ErrorCode)
const codeAt = (payload: Uint8Array, at: number): string => CODE_NAMES[readUint32(payload, at)]

/** Turns what a server sends into lines that a test can compare. */
export class FrameText {
  readonly #decoder: HpackDecoder
  #rest: Buffer = Buffer.alloc(0)
  #block: Buffer | undefined
  lines: string[] = []

  constructor(decoder: HpackDecoder) {
    this.#decoder = decoder
  }

  push(chunk: Uint8Array): void {
    let bytes = Buffer.concat([this.#rest, chunk])
    while (bytes.length >= 9) {
      const end = 9 + bytes.readUIntBE(0, 3)
      if (bytes.length < end) break
      this.#onFrame(bytes[3], bytes[4], readUint31(bytes, 5), bytes.subarray(9, end))
      bytes = bytes.subarray(end)
    }
    this.#rest = bytes
  }

  #onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    const name = TYPE_NAMES[type] ?? `TYPE_${type}`
    const end = (type === FrameType.DATA || type === FrameType.HEADERS) && (flags & END_STREAM) !== 0 ? ' END' : ''
    this.lines.push(
      `${name} ${id}${end}${this.#detail(type, flags, payload)}`.replace(/^(SETTINGS|PING|GOAWAY) 0/, '$1'),
    )
  }

  #detail(type: number, flags: number, payload: Buffer): string {
    switch (type) {
      case FrameType.DATA:
        return ` ${dataText(payload)}`
      case FrameType.HEADERS:
      case FrameType.CONTINUATION:
        return this.#fields(flags, payload)
      case FrameType.RST_STREAM:
        return ` ${codeAt(payload, 0)}`
      case FrameType.SETTINGS:
        return (flags & ACK) !== 0 ? ' ACK' : settingsText(payload)
      case FrameType.PING:
        return `${(flags & ACK) !== 0 ? ' ACK' : ''} ${payload.toString('latin1')}`
      case FrameType.GOAWAY:
        return ` ${readUint31(payload, 0)} ${codeAt(payload, 4)}`
      default:
        return ` ${readUint31(payload, 0)}`
    }
  }

  #fields(flags: number, payload: Buffer): string {
    const bytes = Buffer.concat([this.#block ?? Buffer.alloc(0), payload])
    this.#block = bytes
    if ((flags & END_HEADERS) === 0) return ' …'
    this.#block = undefined
    const fields: string[] = []
    this.#decoder.decode(bytes, 0, bytes.length, (name, value) => fields.push(`${name}=${value}`))
    return ` ${fields.join(' ')}`
  }
}

/** Shows one message as its text, and anything else by its length. */
function dataText(payload: Buffer): string {
  const isMessage = payload.length >= 5 && payload[0] === 0 && readUint32(payload, 1) === payload.length - 5
  return isMessage && payload.length < 100 ? `"${payload.subarray(5).toString()}"` : `${payload.length}`
}

function settingsText(payload: Buffer): string {
  let text = ''
  for (let at = 0; at < payload.length; at += 6) text += ` ${payload.readUInt16BE(at)}=${readUint32(payload, at + 2)}`
  return text
}
