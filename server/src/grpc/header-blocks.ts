import { HeadCache } from './head-cache.ts'
import { HpackDecoder } from './hpack/hpack-decoder.ts'
import { HpackError } from './hpack/hpack-error.ts'
import type { GrpcLimits } from './limits.ts'
import type { HeadReader, RequestHead } from './request-head.ts'

const TABLE_BYTES = 4_096

/** A header block of which CONTINUATION frames are still to come. */
export interface OpenBlock {
  readonly streamId: number
  readonly endStream: boolean
  readonly selfDependent: boolean
  readonly sinceMs: number
  bytes: Uint8Array
  continuations: number
}

/** Decodes the header blocks of one connection, which must come in their order. */
export class HeaderBlocks {
  readonly #decoder: HpackDecoder
  readonly #cache = new HeadCache()
  readonly #reader: HeadReader
  /** The block that is not complete, if any: nothing but its continuation may come now. */
  open: OpenBlock | undefined

  constructor(limits: GrpcLimits, reader: HeadReader) {
    const hpackLimits = { maxListBytes: limits.maxHeaderListBytes, maxFields: limits.maxHeaderFields }
    this.#decoder = new HpackDecoder(TABLE_BYTES, hpackLimits)
    this.#reader = reader
  }

  /** Returns what the tables and the open block take. */
  get heldBytes(): number {
    return this.#decoder.tableBytes + this.#cache.bytes + (this.open?.bytes.length ?? 0)
  }

  /** Keeps the first part of a block. */
  begin(block: Omit<OpenBlock, 'continuations'>): void {
    this.open = { ...block, bytes: new Uint8Array(block.bytes), continuations: 0 }
  }

  /** Appends a part and says whether the block is still within the limits. */
  add(bytes: Uint8Array, start: number, end: number, limits: GrpcLimits): boolean {
    const block = this.open!
    block.continuations++
    const size = block.bytes.length + end - start
    if (block.continuations > limits.maxContinuations || size > limits.maxHeaderBlockBytes) return false
    const joined = new Uint8Array(size)
    joined.set(block.bytes)
    joined.set(bytes.subarray(start, end), block.bytes.length)
    block.bytes = joined
    return true
  }

  /**
   * Returns the head of a request, or undefined where its fields are more than the limits allow. It throws an
   * HpackError if the block cannot be decoded.
   */
  request(bytes: Uint8Array, start: number, end: number): RequestHead | undefined {
    const decoder = this.#decoder
    const version = decoder.tableVersion
    const known = this.#cache.find(bytes, start, end, version)
    if (known !== undefined) return known
    if (!this.#decode(bytes, start, end)) return undefined
    const head = this.#reader.request()
    if (decoder.tableVersion === version) this.#cache.store(bytes, start, end, version, head)
    return head
  }

  /** Returns the rule that trailers break, if any. It throws an HpackError if they cannot be decoded. */
  trailers(bytes: Uint8Array, start: number, end: number): string | undefined {
    return this.#decode(bytes, start, end) ? this.#reader.trailers() : 'the trailers are too large'
  }

  /** Returns false where the fields are more than the limits allow; the decoder is in step all the same. */
  #decode(bytes: Uint8Array, start: number, end: number): boolean {
    this.#reader.begin()
    try {
      this.#decoder.decode(bytes, start, end, this.#reader.onField)
      return true
    } catch (error) {
      if (error instanceof HpackError && error.code === 'TOO_LARGE') return false
      throw error
    }
  }
}
