import type { Priority } from 'sluice/internal/core/shedding/priority'
import type { FieldSet } from './fields.ts'
import type { Fields } from './gate.ts'
import type { UpstreamSlot } from './upstream-slot.ts'

/** What the gateway knows of a connection without asking its client. */
export interface ClientFacts {
  /** The address of the peer. */
  readonly peer: string
  readonly scheme: 'http' | 'https'
}

/** The client's side of one request, in HTTP/1.1 or HTTP/2. */
export interface Asker {
  readonly facts: ClientFacts
  /** pause and resume the body of the request. */
  pause(): void
  resume(): void
  /** Sends an interim answer, such as 100 or 103. */
  inform(status: number, fields: Fields): void
  /** Sends the head. `length` is −1 if unknown; `hasBody` is false for HEAD, 204 and 304. */
  answer(status: number, fields: Fields, length: number, hasBody: boolean): void
  /** Turns the request into a tunnel: from now on bytes are bytes. None comes of a WebSocket before. */
  accept(fields: Fields): void
  write(piece: Buffer): void
  /** Sends what was written. It returns false when the client is slow, and `askerDrained` follows. */
  flush(): boolean
  end(trailers: Fields | undefined): void
  /** Aborts an answer that cannot be completed, so that it is not mistaken for complete. */
  abort(): void
}

/** Hears what the client does. After `left`, nothing more. */
export interface AskerListener {
  /** Called once, before anything else. */
  start(): void
  bodyPiece(piece: Buffer): void
  bodyEnd(trailers: FieldSet | undefined): void
  /** Follows the pieces that came with one read. */
  readDone(): void
  /** bodyFault: what came is no body, and nothing more will be read. */
  bodyFault(detail: string): void
  askerDrained(): void
  left(): void
}

/** A request as it goes to the upstream. */
export interface OutgoingRequest {
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly scheme: string
  /** Without Host, framing and fields of one hop. */
  readonly fields: Fields
  /** 0: no body; −1: one of unknown length. */
  readonly bodyLength: number
  readonly wantsWebSocket: boolean
  readonly takesTrailers: boolean
}

/** Takes one request to an upstream. */
export interface Carrier {
  /** It has carried a request before, so that the upstream may be about to close it. */
  readonly isReused: boolean
  send(request: OutgoingRequest): void
  /** Sends a piece of the body. One that is longer than `send` announced is not sent, and ends the connection. */
  write(piece: Buffer): void
  flush(): boolean
  /** Says that the body is complete. */
  end(trailers: Fields | undefined): void
  pause(): void
  resume(): void
  /** Gives the request up, without further events to the listener. */
  cancel(): void
}

/** Why a carrier failed. `unsent`: the upstream has certainly not looked at the request. */
export type CarrierFailure = 'unsent' | 'closed' | 'invalid'

/** Hears what the upstream does. After `answerEnd` and `carrierFailed`, nothing more. */
export interface CarrierListener {
  /** How much it matters, where not all can be served. Default: a write. */
  readonly priority?: Priority
  /** The slot it holds of an address with limited concurrency. Its listener gives it back. */
  place?: UpstreamSlot | undefined
  connected(carrier: Carrier): void
  /**
   * unreachable: there is no connection, and will be none. `busy` and `shed`: the upstream has not heard of the
   * request.
   */
  unreachable(reason: 'failed' | 'busy' | 'shed', detail: string): void
  informed(status: number, fields: FieldSet): void
  /** `length` is −1 if unknown. */
  answered(status: number, fields: FieldSet, length: number, hasBody: boolean): void
  switched(fields: FieldSet): void
  answerPiece(piece: Buffer): void
  answerEnd(trailers: FieldSet | undefined): void
  answerReadDone(): void
  carrierDrained(): void
  carrierFailed(failure: CarrierFailure, detail: string): void
}

/** Makes carriers to one address. */
export interface Pool {
  readonly connections: number
  readonly speaksHttp2: boolean
  /** Calls `connected` or `unreachable` of the listener, synchronously or later. */
  connect(listener: CarrierListener): void
  /** Takes a listener back that still waits. */
  forget(listener: CarrierListener): void
  /** Closes idle connections, and the others when they are done. */
  retire(): void
  destroy(): void
}
