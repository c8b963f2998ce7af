import { describe, expect, it } from 'vitest'
import { FrameText } from './frame-script.suite.ts'
import { HpackDecoder } from './hpack/hpack-decoder.ts'
import { blockFrameBytes, OK_HEAD_BYTES, OK_TRAILERS_BYTES, ResponseEncoder, writeBlock } from './response-encoder.ts'

const HEAD = ':status=200 content-type=application/grpc'

/** An encoder, and a client that reads what it writes. */
function scene() {
  const encoder = new ResponseEncoder()
  const text = new FrameText(new HpackDecoder(4096, { maxListBytes: 1_000_000, maxFields: 1_000 }))
  const sizes: number[] = []
  const read = (write: (out: Uint8Array) => number): string => {
    const out = new Uint8Array(1_000)
    const end = write(out)
    sizes.push(end)
    text.push(out.subarray(0, end))
    return text.lines.splice(0).join()
  }
  const head = (): string => read((out) => encoder.writeOkHead(out, 0, 5))
  const trailers = (): string => read((out) => encoder.writeOkTrailers(out, 0, 5))
  const fields = (): string =>
    read((out) => {
      const block = encoder.block([{ name: 'x', value: 'y' }])
      return writeBlock(block, out, 0, { streamId: 5, endStream: false, maxFrameBytes: 16_384 })
    })
  return { encoder, sizes, head, trailers, fields }
}

describe('ResponseEncoder', () => {
  it('takes a byte for each field from the second answer on', () => {
    const { sizes, head, trailers } = scene()
    for (let i = 0; i < 3; i++) {
      expect(head()).toBe(`HEADERS 5 ${HEAD}`)
      expect(trailers()).toBe('HEADERS 5 END grpc-status=0')
    }
    expect(sizes.slice(2)).toEqual([11, 10, 11, 10])
    expect(sizes[0]).toBeLessThanOrEqual(OK_HEAD_BYTES)
    expect(sizes[1]).toBeLessThanOrEqual(OK_TRAILERS_BYTES)
  })

  it('is understood in whatever order heads and trailers come', () => {
    const { head, trailers, fields } = scene()
    expect(trailers()).toBe('HEADERS 5 END grpc-status=0')
    expect([head(), head(), fields(), trailers(), head(), trailers()]).toEqual([
      `HEADERS 5 ${HEAD}`,
      `HEADERS 5 ${HEAD}`,
      'HEADERS 5 x=y',
      'HEADERS 5 END grpc-status=0',
      `HEADERS 5 ${HEAD}`,
      'HEADERS 5 END grpc-status=0',
    ])
  })

  it.each(['head', 'trailers', 'fields'] as const)('gives up its table when the client does, first in %s', (first) => {
    const { encoder, head, trailers, fields, sizes } = scene()
    head()
    trailers()
    encoder.setPeerTableBytes(100)
    encoder.setPeerTableBytes(4_096)
    const expected = { head: `HEADERS 5 ${HEAD}`, trailers: 'HEADERS 5 END grpc-status=0', fields: 'HEADERS 5 x=y' }
    expect({ head, trailers, fields }[first]()).toBe(expected[first])
    for (let i = 0; i < 2; i++) expect([head(), trailers()]).toEqual([expected.head, expected.trailers])
    expect(Math.max(...sizes)).toBeLessThanOrEqual(OK_HEAD_BYTES)
  })

  it('keeps its table when the client allows a larger one', () => {
    const { encoder, head, trailers, sizes } = scene()
    head()
    trailers()
    encoder.setPeerTableBytes(65_536)
    expect(head()).toBe(`HEADERS 5 ${HEAD}`)
    expect(sizes.at(-1)).toBe(11)
  })
})

describe('writeBlock', () => {
  it.each([0, 1, 9, 10, 11, 20, 25])('splits a block of %i bytes into frames of at most 10', (length) => {
    const block = new Uint8Array(length).fill(0x82)
    const out = new Uint8Array(200)
    const end = writeBlock(block, out, 0, { streamId: 7, endStream: true, maxFrameBytes: 10 })
    expect(end).toBe(blockFrameBytes(block, 10))
    const frames: number[][] = []
    for (let at = 0; at < end; at += 9 + out[at + 2]) frames.push([...out.subarray(at + 2, at + 5)])
    const count = Math.max(1, Math.ceil(length / 10))
    // Length, type and flags: END_STREAM is on HEADERS, END_HEADERS on the last frame.
    const expected = Array.from({ length: count }, (_, i) => [
      Math.min(10, length - 10 * i),
      i === 0 ? 1 : 9,
      (i === 0 ? 1 : 0) | (i === count - 1 ? 4 : 0),
    ])
    expect(frames).toEqual(expected)
  })
})
