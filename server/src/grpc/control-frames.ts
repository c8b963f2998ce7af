import { type ErrorCode, Flag, FRAME_HEAD_BYTES, FrameType, Setting, writeFrameHead, writeUint32 } from './frames.ts'
import type { GrpcLimits } from './limits.ts'
import { PREFIX_BYTES } from './message-assembly.ts'
import type { OutputBuffer } from './output-buffer.ts'

interface SmallFrame {
  readonly length: number
  readonly type: number
  readonly flags?: number
  readonly streamId?: number
}

/** Writes the head of a frame and makes `out` end behind its payload. It returns where the payload goes. */
function open(out: OutputBuffer, { length, type, flags = 0, streamId = 0 }: SmallFrame): number {
  // In this order: `reserve` may change the buffer.
  const start = out.reserve(FRAME_HEAD_BYTES + length)
  const at = writeFrameHead(out.bytes, start, { length, type, flags, streamId })
  out.length = at + length
  return at
}

/**
 * Returns how much a client may send on a stream: one message with its prefix, and as much again for padding. So we
 * never have to open the window of a stream.
 */
export function streamWindowBytes({ maxMessageBytes }: GrpcLimits): number {
  return 2 * (maxMessageBytes + PREFIX_BYTES)
}

export function writeSettings(out: OutputBuffer, limits: GrpcLimits): void {
  const settings = [
    [Setting.MAX_CONCURRENT_STREAMS, limits.maxConcurrentStreams],
    [Setting.INITIAL_WINDOW_SIZE, streamWindowBytes(limits)],
    [Setting.MAX_HEADER_LIST_SIZE, limits.maxHeaderListBytes],
  ]
  let at = open(out, { length: 6 * settings.length, type: FrameType.SETTINGS })
  for (const [id, value] of settings) {
    out.bytes[at] = 0
    out.bytes[at + 1] = id
    at = writeUint32(out.bytes, at + 2, value)
  }
}

export function writeSettingsAck(out: OutputBuffer): void {
  open(out, { length: 0, type: FrameType.SETTINGS, flags: Flag.ACK })
}

/** Writes a PING, or an answer to one, with the eight bytes at `start`. */
export function writePing(out: OutputBuffer, flags: number, bytes: Uint8Array, start: number): void {
  const at = open(out, { length: 8, type: FrameType.PING, flags })
  for (let i = 0; i < 8; i++) out.bytes[at + i] = bytes[start + i]
}

export function writeWindowUpdate(out: OutputBuffer, streamId: number, increment: number): void {
  const at = open(out, { length: 4, type: FrameType.WINDOW_UPDATE, streamId })
  writeUint32(out.bytes, at, increment)
}

export function writeReset(out: OutputBuffer, streamId: number, code: ErrorCode): void {
  const at = open(out, { length: 4, type: FrameType.RST_STREAM, streamId })
  writeUint32(out.bytes, at, code)
}

/** Writes the last stream that we look at, and why; `rule` is for people who read the traffic. */
export function writeGoaway(out: OutputBuffer, lastStreamId: number, code: ErrorCode, rule = ''): void {
  let at = open(out, { length: 8 + rule.length, type: FrameType.GOAWAY })
  at = writeUint32(out.bytes, at, lastStreamId)
  at = writeUint32(out.bytes, at, code)
  out.bytes.write(rule, at, 'latin1')
}
