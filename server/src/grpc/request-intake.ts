import type { BudgetName } from './budgets.ts'
import { type CallRunner, UNKNOWN_ENCODING } from './call-runner.ts'
import { streamWindowBytes } from './control-frames.ts'
import { ErrorCode, Flag, MAX_STREAM_ID, readUint31 } from './frames.ts'
import { HeaderBlocks } from './header-blocks.ts'
import { HpackError } from './hpack/hpack-error.ts'
import type { GrpcLimits } from './limits.ts'
import { type MessageRefusal, NO_ENCODING } from './message-assembly.ts'
import { GONE_FIELDS, type HeadReader, type RequestHead } from './request-head.ts'
import type { Route } from './route.ts'
import { ServerStream, type StreamOwner } from './server-stream.ts'
import type { ClosedFor, Counters } from './stats.ts'
import { GrpcStatus } from './status.ts'
import { Closure, type StreamTable } from './stream-table.ts'
import type { Unpacking } from './unpacking.ts'

/** What the intakes of a server share. */
export interface IntakeHost {
  readonly limits: GrpcLimits
  readonly counters: Counters
  readonly headReader: HeadReader
  readonly unpacking: Unpacking
  route(path: string): Route | undefined
}

/** The connection whose requests are read. */
export interface IntakeOwner extends StreamOwner {
  /** The time at which the chunk at hand was read. */
  readonly chunkMs: number
  /** Unpacks a message, within the budgets of the connection. */
  unpack(message: Uint8Array): Uint8Array | MessageRefusal
  /** Ends the connection. */
  fail(code: ErrorCode, reason: ClosedFor, rule: string): void
  resetStream(stream: ServerStream, code: ErrorCode): void
  /** Resets a stream that is not open. */
  resetId(id: number, code: ErrorCode): void
  /** Returns false where the budget is used up, and the connection ends. */
  spend(name: BudgetName): boolean
  /** Counts DATA; it returns false where the connection ends. */
  takeFromWindow(bytes: number): boolean
  answerPlainly(stream: ServerStream, status: number): void
}

/** What a request that is no call may send before it is answered without waiting for its end. */
const DISCARD_BYTES = 65_536
/** How much of an unknown path is repeated to its caller. */
const MAX_PATH = 100

/** Turns HEADERS, CONTINUATION and DATA frames into calls (RFC 9113, 5.1, 6.1, 6.2, 6.10 and 8). */
export class RequestIntake {
  readonly #owner: IntakeOwner
  readonly #host: IntakeHost
  readonly #limits: GrpcLimits
  readonly #runner: CallRunner
  readonly #streams: StreamTable
  readonly #blocks: HeaderBlocks
  readonly #streamWindow: number
  /** Bytes of requests that are not complete, and of metadata that handlers have, in all streams. */
  #pendingBytes = 0
  /** Streams of the chunk at hand whose request was not complete when a frame of theirs was read. */
  readonly #incomplete: ServerStream[] = []
  /** Streams above it are ignored: a GOAWAY has said so. */
  lastServedId = MAX_STREAM_ID

  constructor(owner: IntakeOwner, host: IntakeHost, runner: CallRunner, streams: StreamTable) {
    this.#owner = owner
    this.#host = host
    this.#limits = host.limits
    this.#runner = runner
    this.#streams = streams
    this.#blocks = new HeaderBlocks(host.limits, host.headReader)
    this.#streamWindow = streamWindowBytes(host.limits)
  }

  /** Returns when a header block began that is not complete, or undefined if there is none. */
  get openBlockSinceMs(): number | undefined {
    return this.#blocks.open?.sinceMs
  }

  onHeaders(flags: number, id: number, bytes: Uint8Array, start: number, end: number) {
    if ((id & 1) === 0) return this.#protocolError('HEADERS must be on a stream that a client may open')
    let from = start
    let to = end
    if ((flags & Flag.PADDED) !== 0) {
      if (from === to) return this.#frameSizeError('HEADERS')
      to -= bytes[from++]
    }
    let selfDependent = false
    if ((flags & Flag.PRIORITY) !== 0) {
      if (end - from < 5) return this.#frameSizeError('HEADERS')
      selfDependent = readUint31(bytes, from) === id
      from += 5
    }
    if (from > to) return this.#protocolError('padding is longer than its frame')
    const endStream = (flags & Flag.END_STREAM) !== 0
    if ((flags & Flag.END_HEADERS) === 0) {
      const sinceMs = this.#owner.chunkMs
      this.#blocks.begin({ streamId: id, endStream, selfDependent, sinceMs, bytes: bytes.subarray(from, to) })
    } else if (selfDependent) this.#onSelfDependent(id, bytes, from, to)
    else this.#onBlock(id, endStream, bytes, from, to)
  }

  onContinuation(flags: number, id: number, bytes: Uint8Array, start: number, end: number) {
    const block = this.#blocks.open
    if (block === undefined || block.streamId !== id) return this.#protocolError('CONTINUATION continues nothing')
    if (!this.#blocks.add(bytes, start, end, this.#limits)) {
      return this.#owner.fail(ErrorCode.ENHANCE_YOUR_CALM, 'continuations', 'a header block is too long')
    }
    if ((flags & Flag.END_HEADERS) === 0) return
    this.#blocks.open = undefined
    if (block.selfDependent) this.#onSelfDependent(id, block.bytes, 0, block.bytes.length)
    else this.#onBlock(id, block.endStream, block.bytes, 0, block.bytes.length)
  }

  #onBlock(id: number, endStream: boolean, bytes: Uint8Array, start: number, end: number): void {
    try {
      if (id > this.#streams.lastId) {
        const head = this.#blocks.request(bytes, start, end)
        this.#streams.lastId = id
        if (id <= this.lastServedId) this.#onRequest(id, head, endStream)
      } else this.#onTrailers(id, this.#blocks.trailers(bytes, start, end), endStream)
    } catch (error) {
      if (!(error instanceof HpackError)) throw error
      this.#owner.fail(ErrorCode.COMPRESSION_ERROR, 'protocolErrors', error.message)
    }
  }

  /** Resets a stream that depends on itself; its block is decoded all the same, to stay in step. */
  #onSelfDependent(id: number, bytes: Uint8Array, start: number, end: number): void {
    const stream = this.#streams.get(id)
    if (stream !== undefined) this.#owner.resetStream(stream, ErrorCode.PROTOCOL_ERROR)
    else {
      this.#streams.lastId = Math.max(this.#streams.lastId, id)
      this.#owner.resetId(id, ErrorCode.PROTOCOL_ERROR)
    }
    this.#onBlock(id, true, bytes, start, end)
  }

  #onRequest(id: number, head: RequestHead | undefined, endStream: boolean) {
    if (this.#streams.size >= this.#limits.maxConcurrentStreams) {
      return this.#owner.resetId(id, ErrorCode.REFUSED_STREAM)
    }
    if (head === undefined) return this.#onLargeHead(id, endStream)
    if (head.malformed !== undefined || (endStream && head.contentLength > 0)) {
      return this.#owner.resetId(id, ErrorCode.PROTOCOL_ERROR)
    }
    const stream = this.#open(id, head, endStream)
    if (head.httpStatus === 0) {
      head.route ??= this.#host.route(head.path)
      const refusal = refusalOf(head)
      if (refusal !== undefined) return this.#runner.refuse(stream, refusal)
    }
    if (endStream) this.#onRequestEnd(stream)
    else this.#incomplete.push(stream)
  }

  #onLargeHead(id: number, endStream: boolean): void {
    this.#owner.answerPlainly(this.#open(id, NO_HEAD, endStream), NO_HEAD.httpStatus)
    this.#owner.spend('largeHeaders')
  }

  #open(id: number, head: RequestHead, endStream: boolean): ServerStream {
    const stream = new ServerStream(id, this.#owner, head, this.#owner.chunkMs + head.timeoutMs)
    stream.remoteEnded = endStream
    this.#streams.add(stream)
    this.#host.counters.streams++
    this.#host.counters.streamsOpen++
    return stream
  }

  #onTrailers(id: number, brokenRule: string | undefined, endStream: boolean) {
    const stream = this.#streams.get(id)
    if (stream === undefined) return this.#onLateFrame(id, true)
    if (stream.remoteEnded) return this.#owner.resetStream(stream, ErrorCode.STREAM_CLOSED)
    if (brokenRule !== undefined || !endStream) return this.#owner.resetStream(stream, ErrorCode.PROTOCOL_ERROR)
    stream.remoteEnded = true
    this.#onRequestEnd(stream)
  }

  onData(flags: number, id: number, bytes: Uint8Array, start: number, end: number) {
    if (id === 0) return this.#protocolError('DATA must be on a stream')
    let from = start
    let to = end
    if ((flags & Flag.PADDED) !== 0) {
      if (from === to) return this.#frameSizeError('DATA')
      to -= bytes[from++]
      if (from > to) return this.#protocolError('padding is longer than its frame')
    }
    if (!this.#owner.takeFromWindow(end - start)) return
    const stream = this.#streams.get(id)
    if (stream === undefined) return this.#onLateFrame(id, false)
    if (stream.remoteEnded) return this.#owner.resetStream(stream, ErrorCode.STREAM_CLOSED)
    stream.windowUsed += end - start
    if (stream.windowUsed > this.#streamWindow) return this.#owner.resetStream(stream, ErrorCode.FLOW_CONTROL_ERROR)
    stream.receivedBytes += to - from
    stream.remoteEnded = (flags & Flag.END_STREAM) !== 0
    if (from === to && !stream.remoteEnded && !this.#owner.spend('emptyData')) return
    this.#onBody(stream, bytes, from, to)
  }

  #onBody(stream: ServerStream, bytes: Uint8Array, start: number, end: number) {
    const { head } = stream
    // The answer is complete and waits for windows; the request is no longer read.
    if (stream.answered) return
    if (head.contentLength >= 0 && stream.receivedBytes > head.contentLength) {
      return this.#owner.resetStream(stream, ErrorCode.PROTOCOL_ERROR)
    }
    if (head.httpStatus === 0) {
      const refusal = stream.take(bytes, start, end, this.#limits.maxMessageBytes) ?? this.#account(stream)
      if (refusal !== undefined) return this.#runner.refuse(stream, refusal)
    } else if (!stream.remoteEnded && stream.receivedBytes > DISCARD_BYTES) {
      return this.#owner.answerPlainly(stream, head.httpStatus)
    }
    if (stream.remoteEnded) this.#onRequestEnd(stream)
    else if (stream.hasMessage) this.#incomplete.push(stream)
  }

  #onRequestEnd(stream: ServerStream) {
    const { head } = stream
    if (stream.answered) return
    if (head.contentLength >= 0 && head.contentLength !== stream.receivedBytes) {
      return this.#owner.resetStream(stream, ErrorCode.PROTOCOL_ERROR)
    }
    if (head.httpStatus !== 0) return this.#owner.answerPlainly(stream, head.httpStatus)
    if (!stream.hasMessage) return this.#runner.refuse(stream, stream.incompleteness()!)
    if (this.#pendingBytes > this.#limits.maxPendingBytes) return this.#runner.refuse(stream, TOO_MUCH)
    const refusal = stream.isCompressed ? this.#unpack(stream) : undefined
    if (refusal !== undefined) return this.#runner.refuse(stream, refusal)
    this.#runner.run(stream)
    if (stream.extras !== undefined && !stream.closed) this.#letGo(stream)
  }

  #unpack(stream: ServerStream): MessageRefusal | undefined {
    if (stream.head.encoding !== 'gzip') return NO_ENCODING
    const unpacked = this.#owner.unpack(stream.message)
    if (!(unpacked instanceof Uint8Array)) return unpacked
    stream.unpacked(unpacked)
    return undefined
  }

  /** Drops a message that the handler has had. Where the answer waits, what was decoded of it counts as long. */
  #letGo(stream: ServerStream): void {
    const { more, answered } = stream
    more.messageBytes = answered ? 0 : Math.max(more.messageBytes, more.assembly?.bytes.length ?? 0)
    more.assembly = undefined
    this.recount(stream)
  }

  /** Copies what lies in a chunk that is about to go, and starts the time of requests that are not complete. */
  onChunkEnd(): void {
    if (this.#incomplete.length === 0) return
    for (const stream of this.#incomplete) {
      if (stream.remoteEnded || stream.closed) continue
      stream.keepMessage()
      this.recount(stream)
      const isTooMuch = this.#pendingBytes > this.#limits.maxPendingBytes
      if (isTooMuch && !stream.answered) this.#shed(stream)
      else if (stream.extras?.timer === undefined) {
        const dueMs = this.#owner.chunkMs + this.#limits.requestTimeoutMs
        this.#runner.setTimer(stream, Math.min(stream.deadlineMs, dueMs))
      }
    }
    this.#incomplete.length = 0
  }

  /** Counts what a stream holds on to, and refuses the call that takes it past the limit. */
  #account(stream: ServerStream): MessageRefusal | undefined {
    // Most requests lie in the chunk at hand, where nothing is held for them.
    if (stream.extras?.assembly === undefined && stream.heldBytes === 0) return undefined
    this.recount(stream)
    return this.#pendingBytes > this.#limits.maxPendingBytes ? TOO_MUCH : undefined
  }

  #shed(stream: ServerStream): void {
    const { httpStatus } = stream.head
    if (httpStatus === 0) this.#runner.refuse(stream, TOO_MUCH)
    else this.#owner.answerPlainly(stream, httpStatus)
  }

  /** Counts what a stream that stays open holds: its head, and what there is of its message. */
  recount(stream: ServerStream): void {
    if (stream.closed) return
    const bytes = stream.head.bytes + stream.pendingBytes
    this.#pendingBytes += bytes - stream.heldBytes
    stream.heldBytes = bytes
  }

  /** Releases what a closed stream holds. */
  release(stream: ServerStream): void {
    this.#pendingBytes -= stream.heldBytes
    stream.heldBytes = 0
    if (stream.extras === undefined) return
    stream.extras.assembly = undefined
    stream.extras.messageBytes = 0
  }

  /** Returns what all streams hold, and the header block that is not complete. */
  get heldBytes(): number {
    return this.#pendingBytes + this.#blocks.heldBytes
  }

  /** Judges HEADERS or DATA on a stream that is not open (RFC 9113, 5.1). */
  #onLateFrame(id: number, isHeaders: boolean) {
    if (id > this.lastServedId) return
    if (this.#streams.isIdle(id)) return this.#protocolError('DATA on an idle stream')
    const closure = this.#streams.closureOf(id)
    if (closure === Closure.RESET_BY_US) return
    if (closure === Closure.ENDED) {
      return this.#owner.fail(ErrorCode.STREAM_CLOSED, 'protocolErrors', 'a frame after the end of its stream')
    }
    if (isHeaders && closure === Closure.FORGOTTEN) return this.#protocolError('the numbers of streams must grow')
    this.#owner.resetId(id, ErrorCode.STREAM_CLOSED)
  }

  #protocolError(rule: string): void {
    this.#owner.fail(ErrorCode.PROTOCOL_ERROR, 'protocolErrors', rule)
  }

  #frameSizeError(type: string): void {
    this.#owner.fail(ErrorCode.FRAME_SIZE_ERROR, 'protocolErrors', `${type} has a length that it cannot have`)
  }
}

const TOO_MUCH: MessageRefusal = {
  status: GrpcStatus.RESOURCE_EXHAUSTED,
  message: 'too many incomplete requests on this connection',
}

/** Stands for a head that had too many fields to look at, or that is no longer needed. */
export const NO_HEAD: RequestHead = {
  malformed: undefined,
  method: '',
  path: '',
  httpStatus: 431,
  timeoutMs: Number.POSITIVE_INFINITY,
  encoding: '',
  contentLength: -1,
  fields: GONE_FIELDS,
  bytes: 0,
  route: undefined,
}

/**
 * Cuts a path. It may have 16 KB and, out of HPACK's table, come as one byte: to repeat it whole would have a client
 * get 300 bytes for each that it sends.
 */
function shortened(path: string): string {
  return path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}…`
}

function refusalOf(head: RequestHead): MessageRefusal | undefined {
  if (head.route === undefined)
    return { status: GrpcStatus.UNIMPLEMENTED, message: `unknown method ${shortened(head.path)}` }
  if (Number.isNaN(head.timeoutMs)) return { status: GrpcStatus.INTERNAL, message: 'grpc-timeout cannot be read' }
  if (head.encoding !== '' && head.encoding !== 'gzip' && head.encoding !== 'identity') return UNKNOWN_ENCODING
  if (head.timeoutMs === 0) return { status: GrpcStatus.DEADLINE_EXCEEDED, message: 'the deadline has passed' }
  return undefined
}
