import { Flag, FRAME_HEAD_BYTES, FrameType, writeFrameHead, writeUint32 } from './frames.ts'
import { encodedOnce, encodeWithoutTable, type HeaderField, mostEncodedBytes } from './hpack/hpack-encoder.ts'

const DEFAULT_TABLE_BYTES = 4_096
const TABLE_SIZE_ZERO = 0x20
const STATUS_200 = 0x88
const FIRST_DYNAMIC = 0x80 | 62

const CONTENT_TYPE: HeaderField = { name: 'content-type', value: 'application/grpc' }
const STATUS_OK: HeaderField = { name: 'grpc-status', value: '0' }

/** Turns a literal without indexing (0000 xxxx) into one that enters the dynamic table (01xx xxxx). */
function indexed(field: HeaderField): Uint8Array {
  const literal = encodedOnce([field])
  // The index of the name has four bits here and six there; content-type is 31, which takes two bytes here and one
  // there.
  if (literal[0] === 0x0f) return Uint8Array.of(0x40 | (15 + literal[1]), ...literal.subarray(2))
  return Uint8Array.of(0x40 | literal[0], ...literal.subarray(1))
}

const CONTENT_TYPE_PLAIN = encodedOnce([CONTENT_TYPE])
const CONTENT_TYPE_INDEXED = indexed(CONTENT_TYPE)
const STATUS_OK_PLAIN = encodedOnce([STATUS_OK])
const STATUS_OK_INDEXED = indexed(STATUS_OK)

/** OK_HEAD_BYTES and OK_TRAILERS_BYTES are the most that the two frames around a message can take. */
export const OK_HEAD_BYTES: number = FRAME_HEAD_BYTES + 2 + CONTENT_TYPE_PLAIN.length + CONTENT_TYPE_INDEXED.length
export const OK_TRAILERS_BYTES: number = FRAME_HEAD_BYTES + 1 + STATUS_OK_PLAIN.length + STATUS_OK_INDEXED.length

/**
 * Writes the header blocks of one connection. The two fields of every good answer enter the peer's dynamic table with
 * the first one and take a byte each from then on; all others are literals that leave the table alone. So the table
 * never holds more than these two, and needs no search.
 */
export class ResponseEncoder {
  #indexing = true
  #needsSizeUpdate = false
  #hasContentType = false
  #hasStatusOk = false

  /**
   * Follows SETTINGS_HEADER_TABLE_SIZE. Where less than the default is allowed, we do without a table from then on, and
   * say so at the start of the next block (RFC 7541, 4.2).
   */
  setPeerTableBytes(bytes: number): void {
    if (bytes >= DEFAULT_TABLE_BYTES || !this.#indexing) return
    this.#indexing = false
    this.#needsSizeUpdate = true
    this.#hasContentType = false
    this.#hasStatusOk = false
  }

  /** Writes the HEADERS frame before a message, at most OK_HEAD_BYTES. */
  writeOkHead(out: Uint8Array, start: number, streamId: number): number {
    let at = start + FRAME_HEAD_BYTES
    if (this.#needsSizeUpdate) at = this.#writeSizeUpdate(out, at)
    out[at++] = STATUS_200
    if (this.#hasContentType) out[at++] = this.#hasStatusOk ? FIRST_DYNAMIC + 1 : FIRST_DYNAMIC
    else {
      at = copy(this.#indexing ? CONTENT_TYPE_INDEXED : CONTENT_TYPE_PLAIN, out, at)
      this.#hasContentType = this.#indexing
    }
    writeSmallHead(out, start, at, Flag.END_HEADERS, streamId)
    return at
  }

  /** Writes the HEADERS frame that ends a good answer, at most OK_TRAILERS_BYTES. */
  writeOkTrailers(out: Uint8Array, start: number, streamId: number): number {
    let at = start + FRAME_HEAD_BYTES
    if (this.#needsSizeUpdate) at = this.#writeSizeUpdate(out, at)
    // Every good answer begins with writeOkHead or with custom fields, and the latter leave the table alone: the status
    // may only be indexed behind the content type, which writeOkHead relies on.
    if (this.#hasStatusOk) out[at++] = FIRST_DYNAMIC
    else if (this.#hasContentType) {
      at = copy(STATUS_OK_INDEXED, out, at)
      this.#hasStatusOk = true
    } else at = copy(STATUS_OK_PLAIN, out, at)
    writeSmallHead(out, start, at, Flag.END_HEADERS | Flag.END_STREAM, streamId)
    return at
  }

  /** Encodes any fields, after what the peer must receive first. It may take several frames: see writeBlock. */
  block(fields: readonly HeaderField[]): Uint8Array {
    const out = new Uint8Array(mostEncodedBytes(fields))
    const start = this.#needsSizeUpdate ? this.#writeSizeUpdate(out, 0) : 0
    return out.subarray(0, encodeWithoutTable(fields, out, start))
  }

  #writeSizeUpdate(out: Uint8Array, at: number): number {
    this.#needsSizeUpdate = false
    out[at] = TABLE_SIZE_ZERO
    return at + 1
  }
}

function writeSmallHead(out: Uint8Array, start: number, end: number, flags: number, streamId: number): void {
  out[start] = 0
  out[start + 1] = 0
  out[start + 2] = end - start - FRAME_HEAD_BYTES
  out[start + 3] = FrameType.HEADERS
  out[start + 4] = flags
  writeUint32(out, start + 5, streamId)
}

function copy(from: Uint8Array, out: Uint8Array, start: number): number {
  for (let i = 0; i < from.length; i++) out[start + i] = from[i]
  return start + from.length
}

/** Returns the room that a block takes as frames of at most `maxFrameBytes`. */
export function blockFrameBytes(block: Uint8Array, maxFrameBytes: number): number {
  return block.length + FRAME_HEAD_BYTES * Math.max(1, Math.ceil(block.length / maxFrameBytes))
}

export interface BlockTarget {
  readonly streamId: number
  readonly endStream: boolean
  readonly maxFrameBytes: number
}

/** Writes a block as one HEADERS frame and as many CONTINUATION frames as it needs. */
export function writeBlock(block: Uint8Array, out: Uint8Array, start: number, target: BlockTarget): number {
  const { streamId, endStream, maxFrameBytes } = target
  let at = start
  let from = 0
  do {
    const to = Math.min(from + maxFrameBytes, block.length)
    const isFirst = from === 0
    const flags = (to === block.length ? Flag.END_HEADERS : 0) | (isFirst && endStream ? Flag.END_STREAM : 0)
    const type = isFirst ? FrameType.HEADERS : FrameType.CONTINUATION
    at = writeFrameHead(out, at, { length: to - from, type, flags, streamId })
    out.set(block.subarray(from, to), at)
    at += to - from
    from = to
  } while (from < block.length)
  return at
}
