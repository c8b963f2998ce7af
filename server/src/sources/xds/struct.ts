import { MalformedMessage, type ProtoReader } from '../../protobuf/reader.ts'
import { type DecodePosition, spend } from './decode-budget.ts'
import { readText } from './texts.ts'

/** Reads a google.protobuf.Struct. */
export function readStruct(reader: ProtoReader, end: number, place: DecodePosition): object {
  const within = spend(place)
  const entries: [string, unknown][] = []
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) entries.push(readEntry(reader, reader.part(end), within))
    else reader.skip(tag, end)
  }
  // Not by assignment: a key may be __proto__.
  return Object.fromEntries(entries)
}

function readEntry(reader: ProtoReader, end: number, place: DecodePosition): [string, unknown] {
  let [key, value]: [string, unknown] = ['', null]
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) key = readText(reader, reader.part(end))
    else if (tag === 0x12) value = readValue(reader, reader.part(end), place)
    else reader.skip(tag, end)
  }
  return [key, value]
}

/** Reads a google.protobuf.Value: null, a number, a text, a switch, a struct or a list. */
function readValue(reader: ProtoReader, end: number, place: DecodePosition): unknown {
  const within = spend(place)
  let value: unknown = null
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x11) value = readDouble(reader, end)
    else if (tag === 0x1a) value = readText(reader, reader.part(end))
    else if (tag === 0x20) value = reader.uint64(end) !== 0
    else if (tag === 0x2a) value = readStruct(reader, reader.part(end), within)
    else if (tag === 0x32) value = readList(reader, reader.part(end), within)
    else reader.skip(tag, end)
  }
  return value
}

function readDouble(reader: ProtoReader, end: number): number {
  const { bytes, at } = reader
  if (end - at < 8) throw new MalformedMessage('the message ends in the middle of a field')
  reader.at += 8
  return new DataView(bytes.buffer, bytes.byteOffset + at, 8).getFloat64(0, true)
}

function readList(reader: ProtoReader, end: number, place: DecodePosition): unknown[] {
  const within = spend(place)
  const list: unknown[] = []
  while (reader.at < end) {
    const tag = reader.tag(end)
    if (tag === 0x0a) list.push(readValue(reader, reader.part(end), within))
    else reader.skip(tag, end)
  }
  return list
}
