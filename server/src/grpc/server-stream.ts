import type { Timer } from '../net/timer-wheel.ts'
import type { StreamCall, UnaryCall } from './call.ts'
import { readUint32 } from './frames.ts'
import { encodeGrpcMessage } from './grpc-message.ts'
import type { HeaderField } from './hpack/hpack-encoder.ts'
import {
  CUT_SHORT,
  checkPrefix,
  MessageAssembly,
  type MessageRefusal,
  NO_MESSAGE,
  PREFIX_BYTES,
  TOO_MANY,
} from './message-assembly.ts'
import { Metadata, requireMetadata } from './metadata.ts'
import type { Outbox } from './outbox.ts'
import type { Peer } from './peer.ts'
import { GONE_FIELDS, type RequestHead } from './request-head.ts'
import { GrpcStatus } from './status.ts'

/** The connection that a stream is on. */
export interface StreamOwner {
  readonly peer: Peer
  nowMs(): number
  respond(stream: ServerStream, message: Uint8Array): void
  respondInto(stream: ServerStream, maxBytes: number, write: (buffer: Buffer, offset: number) => number): void
  /** Returns whether more may be written. */
  write(stream: ServerStream, message: Uint8Array): boolean
  /** Ends the answer: with OK and nothing else if there are no fields, else with these, grpc-status first. */
  end(stream: ServerStream, fields: readonly HeaderField[] | undefined): void
  onHandlerError(error: unknown, stream: ServerStream): void
}

const NO_BYTES = new Uint8Array(0)

/** What few calls have; a call without them stays small. */
class Extras {
  metadata: Metadata | undefined
  headers: HeaderField[] | undefined
  trailers: HeaderField[] | undefined
  onCancel: (() => void)[] | undefined
  onDrain: (() => void)[] | undefined
  /** What could not be sent yet. */
  outbox: Outbox | undefined
  /** A message that has not arrived whole, and the bytes that it holds. */
  assembly: MessageAssembly | undefined
  /** What a message in pieces takes while its call waits for an answer: what was decoded of it holds on to it. */
  messageBytes = 0
  timer: Timer | undefined
}

/** A stream of HTTP/2 and the call on it. Handlers see it as a UnaryCall or StreamCall. */
export class ServerStream implements UnaryCall, StreamCall {
  readonly id: number
  readonly owner: StreamOwner
  head: RequestHead
  readonly deadlineMs: number
  extras: Extras | undefined = undefined
  messageBuffer: Uint8Array = NO_BYTES
  messageStart = 0
  messageEnd = 0
  /** The length of all DATA so far, without padding. */
  receivedBytes = 0
  /** What the client sent on this stream, with padding: it may not pass our window. */
  windowUsed = 0
  /** What the connection counts as held for this call. */
  heldBytes = 0
  /** What the client allows us to send, less what it allows on every new stream. */
  sendDelta = 0
  hasMessage = false
  /** The message is as grpc-encoding says. */
  isCompressed = false
  /** The client has sent its last frame. */
  remoteEnded = false
  /** The handler has the call. */
  dispatched = false
  /** The answer has begun. */
  headSent = false
  /** The handler has said its last word; it may still be queued. */
  answered = false
  /** The stream is gone from its connection. */
  closed = false
  /** The client no longer waits for an answer. */
  cancelled = false

  constructor(id: number, owner: StreamOwner, head: RequestHead, deadlineMs: number) {
    this.id = id
    this.owner = owner
    this.head = head
    this.deadlineMs = deadlineMs
  }

  get more(): Extras {
    this.extras ??= new Extras()
    return this.extras
  }

  get path(): string {
    return this.head.path
  }

  get message(): Uint8Array {
    if (!this.hasMessage)
      throw new Error('the message is no longer available: an asynchronous handler must copy it first')
    return this.messageBuffer.subarray(this.messageStart, this.messageEnd)
  }

  get metadata(): Metadata {
    const { more, head } = this
    if (more.metadata === undefined && head.fields === GONE_FIELDS) {
      throw new Error('the metadata is no longer available: an asynchronous handler must read it first')
    }
    more.metadata ??= new Metadata(head.fields)
    return more.metadata
  }

  get peer(): Peer {
    return this.owner.peer
  }

  get remainingMs(): number {
    return Math.max(this.deadlineMs - this.owner.nowMs(), 0)
  }

  onCancel(run: () => void): void {
    if (this.cancelled) run()
    else if (!this.answered) {
      const { more } = this
      more.onCancel ??= []
      more.onCancel.push(run)
    }
  }

  onDrain(run: () => void): void {
    const { more } = this
    more.onDrain ??= []
    more.onDrain.push(run)
  }

  setHeader(name: string, value: string | Uint8Array): void {
    const { more } = this
    more.headers ??= []
    more.headers.push(requireMetadata(name, value))
  }

  setTrailer(name: string, value: string | Uint8Array): void {
    const { more } = this
    more.trailers ??= []
    more.trailers.push(requireMetadata(name, value))
  }

  respond(message: Uint8Array): boolean {
    if (this.answered || this.cancelled) return false
    this.answered = true
    this.owner.respond(this, message)
    return true
  }

  respondInto(maxBytes: number, write: (buffer: Buffer, offset: number) => number): boolean {
    if (this.answered || this.cancelled) return false
    this.answered = true
    try {
      this.owner.respondInto(this, maxBytes, write)
    } catch (error) {
      // `write` has thrown, before anything was sent.
      this.answered = false
      throw error
    }
    return true
  }

  write(message: Uint8Array): boolean {
    if (this.answered || this.cancelled) return false
    return this.owner.write(this, message)
  }

  end(status: GrpcStatus = GrpcStatus.OK, message = ''): boolean {
    if (this.answered || this.cancelled) return false
    this.answered = true
    const trailers = this.extras?.trailers
    if (status === GrpcStatus.OK && message === '' && trailers === undefined) this.owner.end(this, undefined)
    else this.owner.end(this, statusFields(status, message, trailers))
    return true
  }

  fail(status: GrpcStatus, message = ''): boolean {
    return this.end(status, message)
  }

  /** Notifies the handler that the client no longer waits. Does not touch the connection. */
  cancel(): void {
    if (this.cancelled) return
    this.cancelled = true
    const callbacks = this.extras?.onCancel
    if (callbacks === undefined || this.answered) return
    for (const run of callbacks) this.#run(run)
  }

  /** Answers a call whose deadline has passed, or whose request does not come. */
  expire(message: string): void {
    if (this.answered || this.cancelled) return
    this.cancel()
    this.answered = true
    this.owner.end(this, statusFields(GrpcStatus.DEADLINE_EXCEEDED, message, undefined))
  }

  drained(): void {
    const callbacks = this.extras?.onDrain
    if (callbacks === undefined || this.answered || this.cancelled) return
    for (const run of callbacks) this.#run(run)
  }

  #run(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.owner.onHandlerError(error, this)
    }
  }

  /** Adds the data of one frame to the message, and returns why it cannot be. */
  take(bytes: Uint8Array, start: number, end: number, maxBytes: number): MessageRefusal | undefined {
    if (start === end) return undefined
    if (this.hasMessage) return TOO_MANY
    let assembly = this.extras?.assembly
    if (assembly === undefined && end - start >= PREFIX_BYTES) {
      const refusal = checkPrefix(bytes, start, maxBytes)
      if (refusal !== undefined) return refusal
      const messageEnd = start + PREFIX_BYTES + readUint32(bytes, start + 1)
      if (messageEnd < end) return TOO_MANY
      if (messageEnd === end) {
        this.isCompressed = bytes[start] === 1
        this.#setMessage(bytes, start + PREFIX_BYTES, end)
        return undefined
      }
    }
    assembly ??= new MessageAssembly()
    this.more.assembly = assembly
    const refusal = assembly.add(bytes, start, end, maxBytes)
    if (refusal === undefined && assembly.isComplete) {
      this.isCompressed = assembly.bytes[0] === 1
      this.#setMessage(assembly.bytes, PREFIX_BYTES, assembly.length)
    }
    return refusal
  }

  /** Returns why the request cannot be handed on although it has ended. */
  incompleteness(): MessageRefusal | undefined {
    if (this.hasMessage) return undefined
    return this.receivedBytes === 0 ? NO_MESSAGE : CUT_SHORT
  }

  /** Copies a message that lies in a chunk which is about to go. */
  keepMessage(): void {
    if (!this.hasMessage || this.extras?.assembly !== undefined) return
    const copy = new MessageAssembly()
    copy.bytes = new Uint8Array(this.message)
    copy.length = copy.bytes.length
    this.more.assembly = copy
    this.#setMessage(copy.bytes, 0, copy.length)
  }

  /** Puts the message in the place of what it came as. */
  unpacked(message: Uint8Array): void {
    this.isCompressed = false
    this.more.messageBytes = message.length
    this.#setMessage(message, 0, message.length)
  }

  /** Lets go of the buffer that the message lies in, which others share. */
  releaseMessage(): void {
    this.#setMessage(NO_BYTES, 0, 0)
    this.hasMessage = false
  }

  /** Drops the fields of the request, unless the handler has them and may still read them. */
  dropHead(bare: RequestHead): void {
    if (this.extras?.metadata !== undefined) {
      if (!this.answered) return
      this.extras.metadata = undefined
    }
    this.head = bare
  }

  /** Returns the bytes of the request that the stream itself holds. */
  get pendingBytes(): number {
    const { extras } = this
    return extras === undefined ? 0 : extras.messageBytes + (extras.assembly?.bytes.length ?? 0)
  }

  #setMessage(bytes: Uint8Array, start: number, end: number): void {
    this.messageBuffer = bytes
    this.messageStart = start
    this.messageEnd = end
    this.hasMessage = true
  }
}

function statusFields(status: GrpcStatus, message: string, trailers: HeaderField[] | undefined): HeaderField[] {
  const fields: HeaderField[] = [{ name: 'grpc-status', value: String(status) }]
  if (message !== '') fields.push({ name: 'grpc-message', value: encodeGrpcMessage(message) })
  return trailers === undefined ? fields : fields.concat(trailers)
}
