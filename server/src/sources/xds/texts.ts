import { isUtf8 } from 'node:buffer'
import { MalformedMessage, type ProtoReader } from '../../edge/protobuf/reader.ts'

/**
 * readText reads a text up to `end`. It is a text of its own: one that the reader cuts out of the whole message would keep
 * that in memory for as long as the rules are in force.
 */
export function readText(reader: ProtoReader, end: number): string {
  const { bytes, at } = reader
  const part = bytes.subarray(at, end)
  if (!isUtf8(part)) throw new MalformedMessage('a text is not UTF-8')
  reader.at = end
  return Buffer.from(part.buffer, part.byteOffset, part.length).toString('utf8')
}
