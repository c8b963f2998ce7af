/** Returns how many bytes a whole number from 0 to 2^53 takes. */
export function varintSize(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x200000) return 3
  if (value < 0x10000000) return 4
  let size = 5
  for (let rest = value / 2 ** 35; rest >= 1; rest /= 128) size++
  return size
}

/** Writes a whole number from 0 to 2^53, and returns where it ends. */
export function writeVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start
  let rest = value
  for (; rest > 0x7fffffff; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80
  for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80
  bytes[at++] = rest
  return at
}

/** A field, or several, ready to be put into a message. */
export type ProtoField = Uint8Array

const NOTHING: ProtoField = new Uint8Array(0)
const VARINT = 0
const FIXED64 = 1
const LENGTH = 2

/*
 * The functions below build messages out of fields, each a separate array of bytes. They are for what is made once per
 * rule, and for rare answers; the hot path writes into the buffer of a connection.
 */

/** Puts fields one after the other. */
export function join(fields: readonly ProtoField[]): ProtoField {
  return fields.length === 1 ? fields[0] : Buffer.concat(fields)
}

/** Encodes a whole number. 0 is the default and omitted, unless it is `optional`. */
export function numberField(number: number, value: number, isOptional = false): ProtoField {
  if (value === 0 && !isOptional) return NOTHING
  const tag = (number << 3) | VARINT
  const bytes = new Uint8Array(varintSize(tag) + varintSize(value))
  writeVarint(bytes, writeVarint(bytes, 0, tag), value)
  return bytes
}

export function boolField(number: number, value: boolean): ProtoField {
  return numberField(number, value ? 1 : 0)
}

export function doubleField(number: number, value: number): ProtoField {
  const bytes = Buffer.alloc(9)
  bytes[0] = (number << 3) | FIXED64
  bytes.writeDoubleLE(value, 1)
  return bytes
}

/** Encodes a text. An empty one is the default and omitted. */
export function textField(number: number, text: string): ProtoField {
  return text === '' ? NOTHING : bytesField(number, Buffer.from(text))
}

/** Encodes bytes, or a nested message, which are the same on the wire. */
export function bytesField(number: number, content: Uint8Array): ProtoField {
  const tag = (number << 3) | LENGTH
  const head = new Uint8Array(varintSize(tag) + varintSize(content.length))
  writeVarint(head, writeVarint(head, 0, tag), content.length)
  return Buffer.concat([head, content])
}

export function messageField(number: number, ...fields: readonly ProtoField[]): ProtoField {
  return bytesField(number, join(fields))
}
