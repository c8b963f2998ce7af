import {
  DEFAULT_WINDOW_BYTES,
  Flag,
  FRAME_HEAD_BYTES,
  FrameType,
  MAX_FRAME_BYTES,
  MAX_WINDOW_BYTES,
  writeFrameHead,
  writeUint32,
} from './frames.ts'
import type { HeaderField } from './hpack/hpack-encoder.ts'
import { PREFIX_BYTES } from './message-assembly.ts'
import { type Ending, Outbox } from './outbox.ts'
import type { OutputBuffer } from './output-buffer.ts'
import { blockFrameBytes, OK_HEAD_BYTES, OK_TRAILERS_BYTES, ResponseEncoder, writeBlock } from './response-encoder.ts'
import type { ServerStream } from './server-stream.ts'
import type { Counters } from './stats.ts'

/** Notified of what becomes of answers. */
export interface ResponseOwner {
  /** Returns whether the socket takes more than what is already waiting for it. */
  isWritable(): boolean
  /** Called when the last frame of an answer has been written. */
  onEnded(stream: ServerStream): void
}

const GRPC_HEAD: readonly HeaderField[] = [
  { name: ':status', value: '200' },
  { name: 'content-type', value: 'application/grpc' },
]

const AROUND_MESSAGE = OK_HEAD_BYTES + FRAME_HEAD_BYTES + PREFIX_BYTES + OK_TRAILERS_BYTES

/** Writes the answers of one connection as far as the client's flow control windows admit, and queues the rest. */
export class ResponseWriter {
  readonly #out: OutputBuffer
  readonly #owner: ResponseOwner
  readonly #counters: Counters
  readonly encoder = new ResponseEncoder()
  #initialWindow = DEFAULT_WINDOW_BYTES
  #window = DEFAULT_WINDOW_BYTES
  /** Streams whose own window is open, and that wait for the connection's or for the socket. */
  #waiting: Set<ServerStream> | undefined
  /** Bytes in all outboxes. */
  queuedBytes = 0
  /** Counts DATA; while it stands still, nothing makes progress. */
  sentBytes = 0

  constructor(out: OutputBuffer, owner: ResponseOwner, counters: Counters) {
    this.#out = out
    this.#owner = owner
    this.#counters = counters
  }

  /** Writes a whole good answer. */
  respond(stream: ServerStream, message: Uint8Array): void {
    const size = message.length
    if (!this.#admits(stream, size)) {
      this.#sendQueued(stream, framed(message))
      this.#end(stream, trailersOf(stream))
      return
    }
    let at = this.#out.reserve(AROUND_MESSAGE + size)
    const { bytes } = this.#out
    at = this.encoder.writeOkHead(bytes, at, stream.id) + FRAME_HEAD_BYTES + PREFIX_BYTES
    if (size <= 64) for (let i = 0; i < size; i++) bytes[at + i] = message[i]
    else bytes.set(message, at)
    this.#finish(stream, bytes, at, size)
  }

  /** Lets the answer be encoded where it is sent from. */
  respondInto(stream: ServerStream, maxBytes: number, write: (buffer: Buffer, offset: number) => number): void {
    if (!this.#admits(stream, maxBytes)) {
      const buffer = Buffer.allocUnsafe(maxBytes)
      this.respond(stream, buffer.subarray(0, write(buffer, 0)))
      return
    }
    const start = this.#out.reserve(AROUND_MESSAGE + maxBytes)
    const { bytes } = this.#out
    // The head is written last: a `write` that throws must leave no trace in the peer's table.
    const at = start + OK_HEAD_BYTES
    const end = write(bytes, at + FRAME_HEAD_BYTES + PREFIX_BYTES)
    const size = end - at - FRAME_HEAD_BYTES - PREFIX_BYTES
    if (!(size >= 0 && size <= maxBytes)) throw new RangeError(`respondInto: ${size} bytes; announced were ${maxBytes}`)
    const headEnd = this.encoder.writeOkHead(bytes, start, stream.id)
    const message = headEnd + FRAME_HEAD_BYTES + PREFIX_BYTES
    if (headEnd !== at) bytes.copyWithin(message, at + FRAME_HEAD_BYTES + PREFIX_BYTES, end)
    this.#finish(stream, bytes, message, size)
  }

  /** Writes the head of the DATA frame before the message at `at`, and the trailers behind it. */
  #finish(stream: ServerStream, bytes: Buffer, at: number, size: number): void {
    const length = PREFIX_BYTES + size
    const head = at - length + size - FRAME_HEAD_BYTES
    bytes[head] = length >>> 16
    bytes[head + 1] = length >>> 8
    bytes[head + 2] = length
    bytes[head + 3] = FrameType.DATA
    bytes[head + 4] = 0
    writeUint32(bytes, head + 5, stream.id)
    bytes[at - PREFIX_BYTES] = 0
    writeUint32(bytes, at - 4, size)
    stream.headSent = true
    this.#sent(stream, length)
    this.#out.length = this.encoder.writeOkTrailers(bytes, at + size, stream.id)
    this.#owner.onEnded(stream)
  }

  /** Whether a message can go out immediately, in one frame, and without custom fields around it. */
  #admits(stream: ServerStream, size: number): boolean {
    const length = PREFIX_BYTES + size
    if (length > this.#window || length > this.#initialWindow + stream.sendDelta) return false
    if (length > MAX_FRAME_BYTES || stream.headSent) return false
    const { extras } = stream
    return extras === undefined || (extras.headers === undefined && extras.trailers === undefined)
  }

  /** Sends one message of a streaming answer, and returns whether the next may follow immediately. */
  write(stream: ServerStream, message: Uint8Array): boolean {
    const length = PREFIX_BYTES + message.length
    if (!stream.headSent) this.#writeHead(stream)
    if ((stream.extras?.outbox?.bytes ?? 0) > 0 || length > MAX_FRAME_BYTES || length > this.#windowOf(stream)) {
      this.#queue(stream, outboxOf(stream), framed(message))
    } else {
      const at = this.#out.reserve(FRAME_HEAD_BYTES + length)
      const head = { length, type: FrameType.DATA, flags: 0, streamId: stream.id }
      const start = writeFrameHead(this.#out.bytes, at, head)
      writePrefixed(message, this.#out.bytes, start)
      this.#out.length = start + length
      this.#sent(stream, length)
    }
    if (this.#owner.isWritable() && (stream.extras?.outbox?.bytes ?? 0) === 0) return true
    outboxOf(stream).waiting = true
    this.#wait(stream)
    return false
  }

  /** Ends an answer, with custom fields or, without them, as a good one. */
  end(stream: ServerStream, fields: readonly HeaderField[] | undefined): void {
    this.#end(stream, fields ?? 'ok')
  }

  /** Answers a request that is no call: a status, fields and a text. */
  plain(stream: ServerStream, fields: readonly HeaderField[], text: Uint8Array) {
    stream.headSent = true
    const endStream = text.length === 0
    this.#writeBlock(stream, fields, endStream)
    if (endStream) return this.#owner.onEnded(stream)
    const outbox = outboxOf(stream)
    outbox.ending = 'data'
    this.#queue(stream, outbox, text)
  }

  /** Drops what a stream that is gone had queued. */
  forget(stream: ServerStream): void {
    const outbox = stream.extras?.outbox
    if (outbox === undefined) return
    this.queuedBytes -= outbox.bytes
    stream.extras!.outbox = undefined
    this.#waiting?.delete(stream)
  }

  /** Follows a WINDOW_UPDATE of the connection; false if that takes the window past its limit. */
  grow(increment: number): boolean {
    this.#window += increment
    if (this.#window > MAX_WINDOW_BYTES) return false
    this.pump()
    return true
  }

  /** Follows a WINDOW_UPDATE of a stream. */
  growStream(stream: ServerStream, increment: number): boolean {
    stream.sendDelta += increment
    if (this.#initialWindow + stream.sendDelta > MAX_WINDOW_BYTES) return false
    if (stream.extras?.outbox !== undefined) {
      this.#wait(stream)
      this.#pumpStream(stream)
    }
    return true
  }

  /**
   * Follows SETTINGS_INITIAL_WINDOW_SIZE, which changes every stream's window (RFC 9113, 6.9.2). Only one that grows
   * has to look at the streams: it may take a window past its limit, or let an answer go.
   */
  setInitialWindow(bytes: number, streams: Iterable<ServerStream>): boolean {
    const grows = bytes > this.#initialWindow
    this.#initialWindow = bytes
    if (!grows) return true
    for (const stream of streams) {
      this.#counters.streamsWalked++
      if (bytes + stream.sendDelta > MAX_WINDOW_BYTES) return false
      if (stream.extras?.outbox !== undefined) this.#wait(stream)
    }
    this.pump()
    return true
  }

  /** Says that `pump` might have something to do. */
  get hasWaiting(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0
  }

  /** Sends what is queued, as far as windows and socket admit, each stream in its turn. */
  pump(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    let turns = waiting.size
    for (const stream of waiting) {
      if (turns-- === 0 || this.#window <= 0 || !this.#owner.isWritable()) return
      this.#counters.streamsWalked++
      // Back to the end of the line, if it is still there afterwards.
      waiting.delete(stream)
      waiting.add(stream)
      this.#pumpStream(stream)
    }
  }

  #sendQueued(stream: ServerStream, chunk: Uint8Array): void {
    if (!stream.headSent) this.#writeHead(stream)
    this.#queue(stream, outboxOf(stream), chunk)
  }

  #queue(stream: ServerStream, outbox: Outbox, chunk: Uint8Array): void {
    outbox.add(chunk)
    this.queuedBytes += chunk.length
    this.#wait(stream)
    if (this.#owner.isWritable()) this.#pumpStream(stream)
  }

  #wait(stream: ServerStream): void {
    this.#waiting ??= new Set()
    this.#waiting.add(stream)
  }

  #windowOf(stream: ServerStream): number {
    return Math.min(this.#window, this.#initialWindow + stream.sendDelta)
  }

  #sent(stream: ServerStream, length: number): void {
    stream.sendDelta -= length
    this.#window -= length
    this.sentBytes += length
  }

  #end(stream: ServerStream, ending: Ending): void {
    const outbox = stream.extras?.outbox
    if (outbox !== undefined && outbox.bytes > 0) outbox.ending = ending
    else this.#writeEnding(stream, ending)
  }

  #writeEnding(stream: ServerStream, ending: Ending): void {
    if (ending === 'ok' && !stream.headSent) this.#writeHead(stream)
    if (ending === 'ok') {
      const at = this.#out.reserve(OK_TRAILERS_BYTES)
      this.#out.length = this.encoder.writeOkTrailers(this.#out.bytes, at, stream.id)
    } else if (ending !== 'data') {
      // Without an answer before it, head and trailers are one block.
      const fields = stream.headSent ? ending : [...headOf(stream), ...ending]
      this.#writeBlock(stream, fields, true)
    }
    stream.headSent = true
    this.#owner.onEnded(stream)
  }

  #writeHead(stream: ServerStream) {
    stream.headSent = true
    if (stream.extras?.headers !== undefined) return this.#writeBlock(stream, headOf(stream), false)
    const at = this.#out.reserve(OK_HEAD_BYTES)
    this.#out.length = this.encoder.writeOkHead(this.#out.bytes, at, stream.id)
  }

  #writeBlock(stream: ServerStream, fields: readonly HeaderField[], endStream: boolean): void {
    const block = this.encoder.block(fields)
    const at = this.#out.reserve(blockFrameBytes(block, MAX_FRAME_BYTES))
    const target = { streamId: stream.id, endStream, maxFrameBytes: MAX_FRAME_BYTES }
    this.#out.length = writeBlock(block, this.#out.bytes, at, target)
  }

  /** Sends what the windows admit of one stream's queue, and its end when that is all. */
  #pumpStream(stream: ServerStream): void {
    const outbox = stream.extras?.outbox
    if (outbox === undefined) return
    while (outbox.bytes > 0) {
      const window = this.#windowOf(stream)
      // A stream that waits for its own window is found by the WINDOW_UPDATE that opens it.
      if (window <= 0 && this.#window > 0) this.#waiting?.delete(stream)
      if (window <= 0 || !this.#owner.isWritable()) return
      this.#writeData(stream, outbox, Math.min(window, outbox.bytes, MAX_FRAME_BYTES))
    }
    this.#waiting?.delete(stream)
    if (outbox.ending !== undefined) this.#writeEnding(stream, outbox.ending)
    else if (outbox.waiting) {
      outbox.waiting = false
      stream.drained()
    }
  }

  #writeData(stream: ServerStream, outbox: Outbox, length: number): void {
    const at = this.#out.reserve(FRAME_HEAD_BYTES + length)
    const isLast = outbox.ending === 'data' && outbox.bytes === length
    const head = { length, type: FrameType.DATA, flags: isLast ? Flag.END_STREAM : 0, streamId: stream.id }
    this.#out.length = outbox.take(length, this.#out.bytes, writeFrameHead(this.#out.bytes, at, head))
    this.queuedBytes -= length
    this.#sent(stream, length)
  }
}

function outboxOf(stream: ServerStream): Outbox {
  const { more } = stream
  more.outbox ??= new Outbox()
  return more.outbox
}

function headOf(stream: ServerStream): readonly HeaderField[] {
  const headers = stream.extras?.headers
  return headers === undefined ? GRPC_HEAD : [...GRPC_HEAD, ...headers]
}

function trailersOf(stream: ServerStream): Ending {
  const trailers = stream.extras?.trailers
  return trailers === undefined ? 'ok' : [{ name: 'grpc-status', value: '0' }, ...trailers]
}

/** Returns a copy of a message behind its prefix. */
function framed(message: Uint8Array): Uint8Array {
  const out = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  writePrefixed(message, out, 0)
  return out
}

function writePrefixed(message: Uint8Array, out: Uint8Array, at: number): void {
  out[at] = 0
  writeUint32(out, at + 1, message.length)
  out.set(message, at + PREFIX_BYTES)
}
