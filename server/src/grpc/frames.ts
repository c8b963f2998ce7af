/** Returns what every client sends first (RFC 9113, 3.4). */
export const PREFACE: Uint8Array = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

export const FRAME_HEAD_BYTES = 9
/** The largest payload that we take: the protocol's default, which we do not raise. */
export const MAX_FRAME_BYTES = 16_384
export const MAX_STREAM_ID = 0x7fff_ffff
export const MAX_WINDOW_BYTES = 0x7fff_ffff
export const DEFAULT_WINDOW_BYTES = 65_535

export const FrameType = {
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

export const Flag = { ACK: 1, END_STREAM: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 32 } as const

export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const

/** Names the error codes of RFC 9113, section 7. */
export const ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
  HTTP_1_1_REQUIRED: 13,
} as const

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

export interface FrameHead {
  readonly length: number
  readonly type: number
  readonly flags: number
  readonly streamId: number
}

/** Writes the nine bytes before a payload and returns where the payload goes. */
export function writeFrameHead(out: Uint8Array, at: number, head: FrameHead): number {
  out[at] = head.length >>> 16
  out[at + 1] = head.length >>> 8
  out[at + 2] = head.length
  out[at + 3] = head.type
  out[at + 4] = head.flags
  return writeUint32(out, at + 5, head.streamId)
}

export function writeUint32(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 24
  out[at + 1] = value >>> 16
  out[at + 2] = value >>> 8
  out[at + 3] = value
  return at + 4
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return bytes[at] * 0x100_0000 + ((bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3])
}

/** Reads a stream id or a window increment; the first bit is reserved and ignored. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return ((bytes[at] & 0x7f) << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]
}
