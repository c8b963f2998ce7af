import type { Metadata } from './metadata.ts'
import type { Peer } from './peer.ts'
import type { GrpcStatus } from './status.ts'

/** What every call offers its handler. */
export interface Call {
  /** As in "/package.Service/Method". */
  readonly path: string
  /**
   * The request's message: a view of the connection's read buffer, valid until the handler returns. A handler that
   * waits copies what it needs later. Reading it makes a view; the three fields below give the same without one.
   */
  readonly message: Uint8Array
  readonly messageBuffer: Uint8Array
  readonly messageStart: number
  readonly messageEnd: number
  /**
   * The fields that came with the call. Like the message they are gone when the handler returns, unless it has read
   * `metadata` by then: most handlers never do, and calls may be many and long.
   */
  readonly metadata: Metadata
  readonly peer: Peer
  /** When the client gives up, on the server's clock; Infinity if it did not say. */
  readonly deadlineMs: number
  /** The time until then, never below 0. */
  readonly remainingMs: number
  /** Whether the client no longer waits for an answer. */
  readonly cancelled: boolean
  /** Runs a function when the call is cancelled; immediately if it already is. */
  onCancel(run: () => void): void
  /** Adds a field before the answer. Names that end in "-bin" take bytes. */
  setHeader(name: string, value: string | Uint8Array): void
  /** Adds a field behind the answer. */
  setTrailer(name: string, value: string | Uint8Array): void
  /** Ends the call with a status. It returns false if the call had ended before. */
  fail(status: GrpcStatus, message?: string): boolean
}

/** Takes one answer, in the handler or any time later. */
export interface UnaryCall extends Call {
  /** Answers with a message, which is copied. It returns false if the call had ended before. */
  respond(message: Uint8Array): boolean
  /**
   * Answers with what `write` encodes into buffer[offset, offset + maxBytes), where the frame is being built; `write`
   * returns the offset behind it. It is called before respondInto returns, and not at all if the call has ended.
   */
  respondInto(maxBytes: number, write: (buffer: Buffer, offset: number) => number): boolean
}

/** Takes any number of answers, and then its end. */
export interface StreamCall extends Call {
  /**
   * Sends a message, which is copied. It returns false when the client does not keep up: wait for onDrain then. What is
   * written all the same is queued, up to a limit at which the connection ends.
   */
  write(message: Uint8Array): boolean
  /** Calls `run` each time when writing may continue. */
  onDrain(run: () => void): void
  /** Ends the call, with OK by default. Returns false if the call had already ended. */
  end(status?: GrpcStatus, message?: string): boolean
}

export type UnaryHandler = (call: UnaryCall) => unknown
export type StreamHandler = (call: StreamCall) => unknown
