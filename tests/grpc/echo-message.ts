/**
 * EchoMessage is `message Echo { string text = 1; uint32 count = 2; }`, written and read by hand: the tests need no
 * schema, and what they send is a message of protobuf all the same.
 */
export interface EchoMessage {
  readonly text: string
  readonly count: number
}

export function encodeEcho({ text, count }: EchoMessage): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.of(0x0a, ...varint(bytes.length)), bytes, Buffer.of(0x10, ...varint(count))])
}

/** Reads what it can: in fuzz tests anything may arrive. */
export function decodeEcho(bytes: Uint8Array): EchoMessage {
  let [text, count, at] = ['', 0, 0]
  const read = () => {
    let value = 0
    for (let shift = 0; at < bytes.length; shift += 7) {
      const byte = bytes[at++]
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    return value >>> 0
  }
  while (at < bytes.length) {
    const key = bytes[at++]
    const value = read()
    if (key === 0x10) count = value
    else {
      text = Buffer.from(bytes.subarray(at, at + value)).toString()
      at += value
    }
  }
  return { text, count }
}

function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return [...bytes, rest]
}
