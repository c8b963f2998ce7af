import type { StreamCall, UnaryCall } from './call.ts'

/** A method that the server has. Its handler takes the kind of call that it was registered for. */
export interface Route {
  readonly path: string
  /** Stands for the heads of its calls once their fields are gone. */
  readonly bareHead: RequestHead
  readonly handler: (call: UnaryCall & StreamCall) => unknown
}

/** What a header block says. Blocks that repeat share one, so nothing in it belongs to a single call. */
export interface RequestHead {
  /** The rule of RFC 9113, section 8, that the block breaks; such a request is reset. */
  readonly malformed: string | undefined
  readonly method: string
  readonly path: string
  /** The HTTP status of a request that is no gRPC call: 405 or 415; otherwise 0. */
  readonly httpStatus: number
  /** The value of grpc-timeout; Infinity without one, NaN if it cannot be read. */
  readonly timeoutMs: number
  /** The value of grpc-encoding; '' without one. */
  readonly encoding: string
  /** −1 without one. */
  readonly contentLength: number
  /** The fields that are not pseudo-header fields, names and values by turns. */
  readonly fields: readonly string[]
  /** The size of the whole list, as HPACK counts it (RFC 9113, 6.5.2). */
  readonly bytes: number
  /** What serves the path, once that has been looked up. */
  route: Route | undefined
}
