import { readUint32 } from './frames.ts'
import { GrpcStatus } from './status.ts'

export const PREFIX_BYTES = 5

/** Why a request is not passed to its handler. */
export interface MessageRefusal {
  readonly status: GrpcStatus
  readonly message: string
}

export const NO_ENCODING: MessageRefusal = {
  status: GrpcStatus.INTERNAL,
  message: 'a message is marked as compressed, but grpc-encoding does not say how',
}
export const BAD_FLAG: MessageRefusal = { status: GrpcStatus.INTERNAL, message: 'the flag of a message must be 0 or 1' }
export const TOO_MANY: MessageRefusal = { status: GrpcStatus.UNIMPLEMENTED, message: 'the method takes one message' }
export const NO_MESSAGE: MessageRefusal = { status: GrpcStatus.INTERNAL, message: 'the call ended without a message' }
export const CUT_SHORT: MessageRefusal = { status: GrpcStatus.INTERNAL, message: 'the call ended within a message' }

export function tooLarge(bytes: number, maxBytes: number): MessageRefusal {
  const message = `a message of ${bytes} bytes; at most ${maxBytes} are allowed`
  return { status: GrpcStatus.RESOURCE_EXHAUSTED, message }
}

/** Reads the five bytes before a message: a flag and a length. */
export function checkPrefix(bytes: Uint8Array, at: number, maxBytes: number): MessageRefusal | undefined {
  if (bytes[at] > 1) return BAD_FLAG
  const length = readUint32(bytes, at + 1)
  return length > maxBytes ? tooLarge(length, maxBytes) : undefined
}

/** Puts a message together that comes in several pieces. It never holds more than has arrived, twice. */
export class MessageAssembly {
  bytes: Uint8Array = Buffer.alloc(0)
  length = 0

  get isComplete(): boolean {
    return this.length >= PREFIX_BYTES && this.length === PREFIX_BYTES + readUint32(this.bytes, 1)
  }

  add(bytes: Uint8Array, start: number, end: number, maxBytes: number): MessageRefusal | undefined {
    const size = this.length + end - start
    // Nothing above the limit is copied: what lies past it belongs to a message that is too large or one too many.
    if (size > PREFIX_BYTES + maxBytes) return this.#excess(bytes, start, maxBytes)
    if (size > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, Math.min(2 * size, PREFIX_BYTES + maxBytes)))
      grown.set(this.bytes.subarray(0, this.length))
      this.bytes = grown
    }
    this.bytes.set(bytes.subarray(start, end), this.length)
    this.length = size
    if (size < PREFIX_BYTES) return undefined
    const refusal = checkPrefix(this.bytes, 0, maxBytes)
    if (refusal !== undefined) return refusal
    return size > PREFIX_BYTES + readUint32(this.bytes, 1) ? TOO_MANY : undefined
  }

  #excess(bytes: Uint8Array, start: number, maxBytes: number): MessageRefusal {
    const prefix = new Uint8Array(PREFIX_BYTES)
    const kept = Math.min(this.length, PREFIX_BYTES)
    prefix.set(this.bytes.subarray(0, kept))
    prefix.set(bytes.subarray(start, start + PREFIX_BYTES - kept), kept)
    return checkPrefix(prefix, 0, maxBytes) ?? TOO_MANY
  }
}
