import { DynamicTable, entryBytes } from './dynamic-table.ts'
import { codedLength, encodeHuffman } from './huffman.ts'
import { STATIC_LAST, staticField, staticName } from './static-table.ts'

/** A field to send. Names are in lower case; every character is one byte, U+0000 to U+00FF. */
export interface HeaderField {
  readonly name: string
  readonly value: string
  /** A sensitive value is in no table, here or on the way (RFC 7541, 7.1.3). */
  readonly sensitive?: boolean
}

/** HpackEncoderOptions: without `huffman` encoding is faster, and text takes a quarter to a third more bytes. */
export interface HpackEncoderOptions {
  readonly huffman?: boolean
}

/** Our table never grows past the protocol's default, whatever the peer allows. */
const MAX_TABLE_BYTES = 4096

/** What the opcodes of a field and up to four integers can take at most, in addition to the texts. */
const MAX_OVERHEAD = 16
const MAX_SIZE_UPDATES = 12

// How an integer begins: the bits of its kind, and in the low byte the mask of its prefix.
const INDEXED = 0x807f
const INDEXING = 0x403f
const SIZE_UPDATE = 0x201f
const NEVER_INDEXED = 0x100f
const WITHOUT_INDEXING = 0x000f
const CODED_TEXT = 0x807f
const PLAIN_TEXT = 0x007f

/** Fields that hardly ever repeat would only evict fields that do. */
const RARELY_REPEATED = new Set(['grpc-message', 'grpc-status-details-bin', 'content-length', 'etag'])

/** Returns the room that encoding these fields needs at most. It throws where a character is no byte. */
export function mostEncodedBytes(fields: readonly HeaderField[]): number {
  let bytes = MAX_SIZE_UPDATES
  for (const { name, value } of fields) {
    requireBytes(name)
    requireBytes(value)
    bytes += MAX_OVERHEAD + name.length + value.length
  }
  return bytes
}

/** Cut to its low byte, another character could become a line break. */
function requireBytes(text: string): void {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0xff) {
      throw new RangeError(`${JSON.stringify(text)} cannot be sent in a header: characters must be below U+0100`)
    }
  }
}

function requireRoom(bytes: number, out: Uint8Array, offset: number): void {
  if (bytes > out.length - offset) {
    throw new RangeError(`a header block may need ${bytes} bytes; there is room for ${out.length - offset}`)
  }
}

/** Writes the header blocks of one connection (RFC 7541), in the order in which they are sent. */
export class HpackEncoder {
  readonly #table = new DynamicTable(MAX_TABLE_BYTES)
  readonly #huffman: boolean
  /** The smallest size since the last block; -1 if the size has not changed. */
  #smallestBytes = -1

  constructor({ huffman = true }: HpackEncoderOptions = {}) {
    this.#huffman = huffman
  }

  /** Follows the peer's SETTINGS_HEADER_TABLE_SIZE. */
  setPeerMaxTableBytes(bytes: number): void {
    const maxBytes = Math.min(bytes, MAX_TABLE_BYTES)
    if (maxBytes === this.#table.maxBytes) return
    this.#table.resize(maxBytes)
    this.#smallestBytes = this.#smallestBytes < 0 ? maxBytes : Math.min(this.#smallestBytes, maxBytes)
  }

  /**
   * Says that the peer waits for a size update at the start of the next block. `encode` writes it; a block that was
   * encoded before (encodeWithoutTable) may only be sent behind writeSizeUpdate.
   */
  get needsSizeUpdate(): boolean {
    return this.#smallestBytes >= 0
  }

  /** Writes what the peer waits for, up to 12 bytes, and returns the offset behind it. */
  writeSizeUpdate(out: Uint8Array, offset: number): number {
    if (this.#smallestBytes < 0) return offset
    const { maxBytes } = this.#table
    let at = offset
    if (this.#smallestBytes < maxBytes) at = writeInteger(this.#smallestBytes, SIZE_UPDATE, out, at)
    this.#smallestBytes = -1
    return writeInteger(maxBytes, SIZE_UPDATE, out, at)
  }

  /** Writes one block and returns the offset behind it. `out` must have room for mostEncodedBytes. */
  encode(fields: readonly HeaderField[], out: Uint8Array, offset: number): number {
    requireRoom(mostEncodedBytes(fields), out, offset)
    let at = this.writeSizeUpdate(out, offset)
    for (const field of fields) at = this.#encodeField(field, out, at)
    return at
  }

  #encodeField(field: HeaderField, out: Uint8Array, offset: number): number {
    const { name, value } = field
    let nameIndex = staticName(name)
    if (!field.sensitive) {
      const index = staticField(nameIndex, value) || this.#find(name, value)
      if (index > 0) return writeInteger(index, INDEXED, out, offset)
    }
    if (nameIndex === 0) nameIndex = this.#findName(name)
    const isIndexed = !field.sensitive && this.#isWorthAPlace(name, value)
    if (isIndexed) this.#table.add(name, value)
    const kind = isIndexed ? INDEXING : field.sensitive ? NEVER_INDEXED : WITHOUT_INDEXING
    return writeLiteral(field, { kind, nameIndex, huffman: this.#huffman }, out, offset)
  }

  /** An entry of more than half of the table would push out too much for one field. */
  #isWorthAPlace(name: string, value: string): boolean {
    return entryBytes(name, value) * 2 <= this.#table.maxBytes && !RARELY_REPEATED.has(name)
  }

  #find(name: string, value: string): number {
    const index = this.#table.find(name, value)
    return index < 0 ? 0 : STATIC_LAST + 1 + index
  }

  #findName(name: string): number {
    const index = this.#table.findName(name)
    return index < 0 ? 0 : STATIC_LAST + 1 + index
  }
}

/**
 * Writes fields in a form that means the same on every connection at any time, so that the bytes can be kept and sent
 * again. It returns the offset behind them; `out` must have room for mostEncodedBytes.
 */
export function encodeWithoutTable(fields: readonly HeaderField[], out: Uint8Array, offset: number): number {
  requireRoom(mostEncodedBytes(fields) - MAX_SIZE_UPDATES, out, offset)
  let at = offset
  for (const field of fields) {
    const nameIndex = staticName(field.name)
    const index = field.sensitive ? 0 : staticField(nameIndex, field.value)
    const kind = field.sensitive ? NEVER_INDEXED : WITHOUT_INDEXING
    at =
      index > 0
        ? writeInteger(index, INDEXED, out, at)
        : writeLiteral(field, { kind, nameIndex, huffman: true }, out, at)
  }
  return at
}

/** Returns a block of these fields that can be sent again and again. */
export function encodedOnce(fields: readonly HeaderField[]): Uint8Array {
  const out = new Uint8Array(mostEncodedBytes(fields))
  return out.slice(0, encodeWithoutTable(fields, out, 0))
}

interface LiteralForm {
  readonly kind: typeof INDEXING | typeof NEVER_INDEXED | typeof WITHOUT_INDEXING
  readonly nameIndex: number
  readonly huffman: boolean
}

function writeLiteral(field: HeaderField, form: LiteralForm, out: Uint8Array, offset: number): number {
  const { kind, nameIndex, huffman } = form
  let at = writeInteger(nameIndex, kind, out, offset)
  if (nameIndex === 0) at = writeText(field.name, huffman, out, at)
  return writeText(field.value, huffman, out, at)
}

function writeText(text: string, huffman: boolean, out: Uint8Array, offset: number): number {
  const coded = huffman ? codedLength(text) : Number.POSITIVE_INFINITY
  if (coded <= text.length && coded > 0) {
    return encodeHuffman(text, out, writeInteger(coded, CODED_TEXT, out, offset))
  }
  let at = writeInteger(text.length, PLAIN_TEXT, out, offset)
  for (let i = 0; i < text.length; i++) out[at++] = text.charCodeAt(i)
  return at
}

/** Writes an integer into the bits that `form` leaves to it and, if they do not do, the bytes after (5.1). */
export function writeInteger(value: number, form: number, out: Uint8Array, offset: number): number {
  const kind = form >>> 8
  const prefix = form & 0xff
  let at = offset
  if (value < prefix) {
    out[at++] = kind | value
    return at
  }
  out[at++] = kind | prefix
  let rest = value - prefix
  for (; rest >= 0x80; rest >>>= 7) out[at++] = rest | 0x80
  out[at++] = rest
  return at
}
