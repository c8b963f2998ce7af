import { isUtf8 } from 'node:buffer'
import { MalformedMessage, type ProtoReader } from '../../protobuf/reader.ts'

/** The longest text that the reader decodes separately, or has already. */
const MAX_SHORT = 64
const SURROGATE = /[\ud800-\udfff]/

/**
 * Reads a text up to `end` as a separate string: one that the reader cuts out of the whole message would keep that in
 * memory for as long as the rules are in force.
 */
export function readText(reader: ProtoReader, end: number): string {
  const { bytes, at } = reader
  if (end - at <= MAX_SHORT) {
    const text = reader.name(end)
    // Bytes that are not UTF-8 are surrogates here, and so are halves of rare characters.
    if (!SURROGATE.test(text)) return text
  }
  const part = bytes.subarray(at, end)
  if (!isUtf8(part)) throw new MalformedMessage('a text is not UTF-8')
  reader.at = end
  return Buffer.from(part.buffer, part.byteOffset, part.length).toString('utf8')
}
