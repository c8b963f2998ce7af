import { SourceFault } from '../remote-source.ts'

/** A flag, and the length of the message. */
const HEAD = 5

/**
 * Makes whole messages of what comes over a gRPC stream. It holds one message, in one piece of memory, however small
 * the pieces are in which it comes.
 */
export class MessageAssembler {
  readonly #maxBytes: number
  readonly #head = Buffer.alloc(HEAD)
  #chunks: Buffer[] = []
  /** What has come of the head, and of the body. */
  #headBytes = 0
  #body: Buffer | undefined
  #bodyBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether a part of a message is held. */
  get isWaiting(): boolean {
    return this.#headBytes > 0 || this.#chunks.length > 0
  }

  push(chunk: Buffer): void {
    if (chunk.length > 0) this.#chunks.push(chunk)
  }

  /** Returns the next whole message, if there is one. It throws a SourceFault when that is too large or packed. */
  next(): Buffer | undefined {
    for (;;) {
      if (this.#body === undefined && this.#headBytes === HEAD) this.#begin()
      if (this.#body !== undefined && this.#bodyBytes === this.#body.length) return this.#finish(this.#body)
      if (this.#chunks.length === 0) return undefined
      if (this.#body === undefined) this.#headBytes += this.#moved(this.#head, this.#headBytes)
      else this.#bodyBytes += this.#moved(this.#body, this.#bodyBytes)
    }
  }

  #begin(): void {
    if (this.#head[0] !== 0) throw new SourceFault('a compressed message, which was not requested')
    const length = this.#head.readUInt32BE(1)
    if (length > this.#maxBytes) {
      throw new SourceFault(`a message of ${length} bytes, above the maximum of ${this.#maxBytes}`)
    }
    this.#body = Buffer.allocUnsafeSlow(length)
  }

  #finish(body: Buffer): Buffer {
    this.#body = undefined
    this.#headBytes = 0
    this.#bodyBytes = 0
    return body
  }

  /** Moves what there is into a buffer, as far as there is room, and returns how much that was. */
  #moved(to: Buffer, at: number): number {
    const [chunk] = this.#chunks
    const moved = chunk.copy(to, at)
    if (moved === chunk.length) this.#chunks.shift()
    else this.#chunks[0] = chunk.subarray(moved)
    return moved
  }
}
