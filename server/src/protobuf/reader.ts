import { isUtf8 } from 'node:buffer'

/** Says that bytes are not a message of the type they should be. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage'
}

const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const GROUP = 3
const GROUP_END = 4
const FIXED32 = 5
const MAX_NESTED_GROUPS = 16
/** More fields than any message has: as good as no bound. */
const MANY = 0x3fff_ffff

/** Returns the default message: every field has its default value. */
const NO_BYTES = new Uint8Array(0)
/** Names up to this long are kept for the next message. */
const MAX_NAME = 64
const NAMES = 1024

type Slice = (this: Uint8Array, start: number, end: number) => string
const { latin1Slice, ucs2Slice, utf8Slice } = Buffer.prototype as unknown as Record<
  'latin1Slice' | 'ucs2Slice' | 'utf8Slice',
  Slice
>

/**
 * Reads protobuf fields from bytes. One instance reads one message after the other, so that reading allocates nothing
 * but the texts. Never reads beyond the message, whatever it claims; anything malformed is a MalformedMessage.
 *
 * Names (domains and keys, which are few) are looked up by their bytes in a table of 1,024 instead of being decoded
 * again: 37 ns instead of 120, and the text brings its hash along. Values are cut out of one text of the whole message.
 */
export class ProtoReader {
  bytes: Uint8Array = NO_BYTES
  at = 0
  #start = 0
  #end = 0
  #fieldsLeft = 0
  /** The whole message, once a value was read. */
  #text: string | undefined
  readonly #names = new Array<string>(NAMES).fill('')

  /**
   * Begins with a message: bytes[start, end). A message of strangers has at most so many fields, in all of its parts:
   * one can take two bytes and, as a text that is not UTF-8, a microsecond.
   */
  open(bytes: Uint8Array, start: number, end: number, maxFields = MANY): void {
    this.bytes = bytes
    this.at = start
    this.#start = start
    this.#end = end
    this.#fieldsLeft = maxFields
    this.#text = undefined
  }

  /** Forgets the message, so that its memory can be used again. */
  close(): void {
    this.bytes = NO_BYTES
    this.#text = undefined
  }

  /** Reads a varint and keeps its lower 32 bits, as protobuf does for 32-bit types, enums and booleans. */
  uint32(end: number): number {
    const { bytes } = this
    let at = this.at
    let byte = at < end ? bytes[at++] : cut()
    if (byte < 0x80) {
      this.at = at
      return byte
    }
    let value = byte & 0x7f
    for (let shift = 7; shift < 70; shift += 7) {
      byte = at < end ? bytes[at++] : cut()
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) {
        this.at = at
        return value >>> 0
      }
    }
    throw new MalformedMessage('a number has more than 10 bytes')
  }

  /** Reads a varint of up to 64 bits. Above 2^53 it is the nearest number that JavaScript has. */
  uint64(end: number): number {
    const { bytes } = this
    let value = 0
    let unit = 1
    for (let i = 0; i < 10; i++, unit *= 128) {
      const byte = this.at < end ? bytes[this.at++] : cut()
      // The tenth byte has room for one bit: what does not fit into 64 bits is dropped.
      value += (i === 9 ? byte & 1 : byte & 0x7f) * unit
      if (byte < 0x80) return value
    }
    throw new MalformedMessage('a number has more than 10 bytes')
  }

  /** Reads a zigzag varint: its lowest bit is the sign. Beyond 2^52 it is the nearest number there is. */
  sint64(end: number): number {
    const isNegative = this.at < end && (this.bytes[this.at] & 1) === 1
    const value = this.uint64(end)
    return isNegative ? -(value + 1) / 2 : value / 2
  }

  /** Reads the number and the wire type of the next field, as on the wire: `number << 3 | type`. */
  tag(end: number): number {
    const tag = this.uint32(end)
    if (this.#fieldsLeft-- === 0) throw new MalformedMessage('the message has too many fields')
    if (tag >>> 3 === 0) throw new MalformedMessage('a field has the number 0')
    return tag
  }

  /** Reads the length of a field, and returns where it ends. */
  part(end: number): number {
    const length = this.uint32(end)
    if (length > end - this.at) throw new MalformedMessage('a field is longer than its message')
    return this.at + length
  }

  /** Skips an unknown field. Later versions of a message may have any. */
  skip(tag: number, end: number, depth = 0): void {
    const type = tag & 7
    if (type === VARINT) this.uint64(end)
    else if (type === LENGTH) this.at = this.part(end)
    else if (type === FIXED64) this.#pass(8, end)
    else if (type === FIXED32) this.#pass(4, end)
    else if (type === GROUP) this.#skipGroup(tag, end, depth)
    else throw new MalformedMessage(`a field has the wire type ${type}`)
  }

  #pass(length: number, end: number): void {
    if (length > end - this.at) cut()
    this.at += length
  }

  #skipGroup(group: number, end: number, depth: number): void {
    if (depth >= MAX_NESTED_GROUPS) throw new MalformedMessage('groups are nested too deeply')
    for (;;) {
      const tag = this.tag(end)
      if ((tag & 7) !== GROUP_END) this.skip(tag, end, depth + 1)
      else if (tag >>> 3 === group >>> 3) return
      else throw new MalformedMessage('a group ends that did not begin')
    }
  }

  /** Reads a text that the next messages are likely to hold as well. */
  name(end: number): string {
    const { bytes, at } = this
    const length = end - at
    if (length > MAX_NAME) return this.text(end)
    let hash = 0x811c9dc5
    let seen = 0
    for (let i = at; i < end; i++) {
      const byte = bytes[i]
      seen |= byte
      hash = Math.imul(hash ^ byte, 0x01000193)
    }
    if (seen > 0x7f) return this.text(end)
    this.at = end
    const slot = (hash ^ (hash >>> 15)) & (NAMES - 1)
    const known = this.#names[slot]
    if (known.length === length && equalsBytes(known, bytes, at)) return known
    const text = latin1Slice.call(bytes, at, end)
    this.#names[slot] = text
    return text
  }

  /** Reads a text. Bytes that are not UTF-8 are kept apart: see textOf. */
  text(end: number): string {
    const { bytes, at } = this
    this.at = end
    let seen = 0
    for (let i = at; i < end; i++) seen |= bytes[i]
    if (seen > 0x7f) return textOf(bytes, at, end)
    if (at === end) return ''
    this.#text ??= latin1Slice.call(bytes, this.#start, this.#end)
    return this.#text.substring(at - this.#start, end - this.#start)
  }
}

function cut(): never {
  throw new MalformedMessage('the message ends in the middle of a field')
}

function equalsBytes(text: string, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) !== bytes[start + i]) return false
  }
  return true
}

/**
 * Decodes UTF-8. Where the bytes are not, each byte beyond ASCII becomes a lone surrogate (U+DC80 and up), so that
 * different bytes stay different texts and none is equal to a proper one. To refuse the message instead would let a
 * caller who puts such a byte into a header switch limits off, where the proxy lets requests pass whose call failed.
 */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  if (isUtf8(bytes.subarray(start, end))) return utf8Slice.call(bytes, start, end)
  // In one piece: a text that is put together character by character takes 30 times as long to make and to read.
  const units = Buffer.allocUnsafe(2 * (end - start))
  for (let i = start, at = 0; i < end; i++, at += 2) {
    const byte = bytes[i]
    units[at] = byte
    units[at + 1] = byte < 0x80 ? 0 : 0xdc
  }
  return ucs2Slice.call(units, 0, units.length)
}
