import { DynamicTable, entryBytes } from './dynamic-table.ts'
import { corrupt, HpackError } from './hpack-error.ts'
import { decodeHuffman, mostDecoded } from './huffman.ts'
import { latin1 } from './latin1.ts'
import { STATIC_LAST, STATIC_NAMES, STATIC_VALUES } from './static-table.ts'

/** Bounds what one header block may hold. */
export interface HpackLimits {
  /** The size of all fields, each with 32 bytes on top (RFC 9113, 6.5.2), as in SETTINGS_MAX_HEADER_LIST_SIZE. */
  readonly maxListBytes: number
  readonly maxFields: number
}

/** Receives a field; names and values are bytes as characters U+0000 to U+00FF, not checked in any way. */
export type OnField = (name: string, value: string, sensitive: boolean) => void

/** Integers may have four bytes after their prefix: more than 2^28 is above everything that they count here. */
const MAX_SHIFT = 28

/**
 * Texts pass through here on their way out of the Huffman code. Decoding is synchronous, so one does for all decoders.
 */
let scratch = Buffer.alloc(4096)

/** Reads the header blocks of one connection (RFC 7541), in their order. */
export class HpackDecoder {
  readonly #table: DynamicTable
  readonly #limits: HpackLimits
  /** What the peer may set its table to: the SETTINGS value that it has acknowledged. */
  #maxTableBytes: number
  /** The next block must begin by setting the table to at most this; Infinity if nothing is asked of it. */
  #reduceTo = Number.POSITIVE_INFINITY
  #at = 0
  #end = 0

  constructor(maxTableBytes: number, limits: HpackLimits) {
    this.#table = new DynamicTable(maxTableBytes)
    this.#maxTableBytes = maxTableBytes
    this.#limits = limits
  }

  /**
   * Changes with every change of the dynamic table. As long as it stays the same, a block of the same bytes means the
   * same fields; a block that leaves it as it was can be recognised without decoding it again.
   */
  get tableVersion(): number {
    return this.#table.version
  }

  /** Returns the size of the dynamic table, as HPACK counts it. */
  get tableBytes(): number {
    return this.#table.bytes
  }

  /**
   * Must be called when the peer acknowledges another SETTINGS_HEADER_TABLE_SIZE. If its table is larger, its next
   * block must begin with a size update (RFC 7541, 4.2).
   */
  setMaxTableBytes(bytes: number): void {
    if (bytes < this.#table.maxBytes) this.#reduceTo = Math.min(this.#reduceTo, bytes)
    this.#maxTableBytes = bytes
    // What was decoded before must not be recognised: it may lack the update that is now required.
    this.#table.version++
  }

  /**
   * Reads one whole block, block[start, end), and hands its fields out. It throws an HpackError: COMPRESSION_ERROR for
   * bytes that are no such block, and TOO_LARGE for a block above the limits, at its end, when the table has followed
   * all of it; fields up to the limit have been handed out by then.
   */
  decode(block: Uint8Array, start: number, end: number, onField: OnField): void {
    this.#at = start
    this.#end = end
    this.#readSizeUpdates(block)
    const { maxListBytes, maxFields } = this.#limits
    let listBytes = 0
    let fields = 0
    while (this.#at < end) {
      const byte = block[this.#at++]
      let name: string
      let value: string
      if (byte >= 0x80) {
        const index = this.#readInteger(block, byte, 0x7f)
        name = this.#nameAt(index)
        value = index <= STATIC_LAST ? STATIC_VALUES[index] : this.#table.valueAt(index - STATIC_LAST - 1)
      } else if (byte >= 0x40) {
        name = this.#readName(block, byte, 0x3f)
        value = this.#readText(block)
        this.#table.add(name, value)
      } else if (byte >= 0x20) {
        throw corrupt('a table size update must be at the start of a header block (RFC 7541, 4.2)')
      } else {
        name = this.#readName(block, byte, 0x0f)
        value = this.#readText(block)
      }
      listBytes += entryBytes(name, value)
      if (++fields <= maxFields && listBytes <= maxListBytes) onField(name, value, (byte & 0xf0) === 0x10)
    }
    if (fields > maxFields || listBytes > maxListBytes) throw this.#tooLarge(fields, listBytes)
  }

  #tooLarge(fields: number, listBytes: number): HpackError {
    const { maxListBytes, maxFields } = this.#limits
    const rule = `${fields} fields of ${listBytes} bytes; a header list may have ${maxFields} fields of ${maxListBytes} bytes`
    return new HpackError('TOO_LARGE', rule)
  }

  #readSizeUpdates(block: Uint8Array): void {
    while (this.#at < this.#end && (block[this.#at] & 0xe0) === 0x20) {
      const bytes = this.#readInteger(block, block[this.#at++], 0x1f)
      if (bytes > this.#maxTableBytes) {
        throw corrupt(`a table of ${bytes} bytes; SETTINGS_HEADER_TABLE_SIZE allows ${this.#maxTableBytes}`)
      }
      if (bytes <= this.#reduceTo) this.#reduceTo = Number.POSITIVE_INFINITY
      this.#table.resize(bytes)
    }
    if (this.#reduceTo !== Number.POSITIVE_INFINITY && this.#at < this.#end) {
      throw corrupt(`a table size update to at most ${this.#reduceTo} must come first (RFC 7541, 4.2)`)
    }
  }

  #nameAt(index: number): string {
    if (index <= STATIC_LAST) {
      if (index === 0) throw corrupt('index 0 stands for no field (RFC 7541, 6.1)')
      return STATIC_NAMES[index]
    }
    const { length } = this.#table
    if (index - STATIC_LAST > length) throw corrupt(`index ${index}; the last entry is ${STATIC_LAST + length}`)
    return this.#table.nameAt(index - STATIC_LAST - 1)
  }

  #readName(block: Uint8Array, byte: number, prefix: number): string {
    return (byte & prefix) === 0 ? this.#readText(block) : this.#nameAt(this.#readInteger(block, byte, prefix))
  }

  /** Returns the integer that starts in the low bits of `byte`; `prefix` is the mask of these bits (5.1). */
  #readInteger(block: Uint8Array, byte: number, prefix: number): number {
    let value = byte & prefix
    if (value < prefix) return value
    for (let shift = 0; shift < MAX_SHIFT; shift += 7) {
      if (this.#at === this.#end) throw corrupt('the header block ends within an integer')
      const next = block[this.#at++]
      value += (next & 0x7f) << shift
      if (next < 0x80) return value
    }
    throw corrupt('an integer may have 4 bytes after its prefix')
  }

  #readText(block: Uint8Array): string {
    if (this.#at === this.#end) throw corrupt('the header block ends before a string')
    const byte = block[this.#at++]
    const length = this.#readInteger(block, byte, 0x7f)
    const start = this.#at
    if (length > this.#end - start) throw corrupt('the header block ends within a string')
    this.#at += length
    if (byte < 0x80) return latin1(block, start, this.#at)
    const most = mostDecoded(length)
    if (most > scratch.length) scratch = Buffer.alloc(most * 2)
    const decoded = decodeHuffman(block, start, this.#at, scratch)
    if (decoded < 0) throw corrupt('a Huffman code holds EOS or bad padding (RFC 7541, 5.2)')
    return latin1(scratch, 0, decoded)
  }
}
