import { describe, expect, it } from 'vitest'
import { HpackDecoder } from './hpack-decoder.ts'
import { encodedOnce, encodeWithoutTable, type HeaderField, HpackEncoder, mostEncodedBytes } from './hpack-encoder.ts'

const limits = { maxListBytes: 1 << 20, maxFields: 1000 }
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

function encode(encoder: HpackEncoder, fields: readonly HeaderField[]): string {
  const out = new Uint8Array(mostEncodedBytes(fields))
  return hexOf(out.subarray(0, encoder.encode(fields, out, 0)))
}

function decode(decoder: HpackDecoder, hex: string): HeaderField[] {
  const fields: HeaderField[] = []
  const block = new Uint8Array(Buffer.from(hex, 'hex'))
  decoder.decode(block, 0, block.length, (name, value, sensitive) => fields.push({ name, value, sensitive }))
  return fields
}

const field = (name: string, value: string): HeaderField => ({ name, value })

describe('an encoder', () => {
  it('sends a field that repeats as one byte', () => {
    const encoder = new HpackEncoder()
    expect(encode(encoder, [field('x-tenant', 'acme')]).length / 2).toBeGreaterThan(8)
    expect(encode(encoder, [field('x-tenant', 'acme')])).toBe('be')
  })

  it('refers to the name of an earlier field', () => {
    const encoder = new HpackEncoder({ huffman: false })
    encode(encoder, [field('x-tenant', 'acme')])
    expect(encode(encoder, [field('x-tenant', 'b')])).toBe('7e0162')
  })

  it('codes text only where that is not longer', () => {
    expect(encode(new HpackEncoder(), [field('etag', '~~~~')])).toBe('0f13047e7e7e7e')
    expect(encode(new HpackEncoder(), [field('etag', '0000')])).toBe('0f138300000f')
  })

  it('never indexes what is sensitive, even where the table has it', () => {
    const encoder = new HpackEncoder({ huffman: false })
    encode(encoder, [field('authorization', 'k')])
    const secret = { name: 'authorization', value: 'k', sensitive: true }
    expect(encode(encoder, [secret])).toBe('1f08016b')
    expect(encode(encoder, [secret])).toBe('1f08016b')
    expect(encode(encoder, [{ ...secret, name: ':method', value: 'GET' }])).toBe('1203474554')
  })

  it('keeps out of the table what rarely repeats, and what would push out half of it', () => {
    const encoder = new HpackEncoder()
    encode(encoder, [field('x', 'y')])
    encode(encoder, [field('grpc-message', 'no such user')])
    encode(encoder, [field('x-large', 'z'.repeat(2048))])
    expect(encode(encoder, [field('x', 'y')])).toBe('be')
  })

  it('says the smallest and the last size of its table at the start of the next block', () => {
    const encoder = new HpackEncoder()
    expect(encoder.needsSizeUpdate).toBe(false)
    encoder.setPeerMaxTableBytes(0)
    encoder.setPeerMaxTableBytes(100)
    expect(encoder.needsSizeUpdate).toBe(true)
    expect(encode(encoder, [field(':method', 'GET')])).toBe('203f4582')
    expect(encoder.needsSizeUpdate).toBe(false)
    expect(encode(encoder, [field(':method', 'GET')])).toBe('82')
  })

  it('writes a size update ahead of a block that was encoded before', () => {
    const encoder = new HpackEncoder()
    const decoder = new HpackDecoder(4096, limits)
    encoder.setPeerMaxTableBytes(0)
    decoder.setMaxTableBytes(0)
    const out = new Uint8Array(16)
    const update = hexOf(out.subarray(0, encoder.writeSizeUpdate(out, 0)))
    expect(update).toBe('20')
    expect(encoder.writeSizeUpdate(out, 5)).toBe(5)
    const block = hexOf(encodedOnce([field(':status', '200')]))
    expect(decode(decoder, update + block)).toEqual([{ ...field(':status', '200'), sensitive: false }])
  })

  it('does not use more of a table than the default, and so has nothing to say about a larger one', () => {
    const encoder = new HpackEncoder()
    encoder.setPeerMaxTableBytes(65_536)
    expect(encode(encoder, [field(':method', 'GET')])).toBe('82')
  })

  it('uses no table when the peer allows none', () => {
    const encoder = new HpackEncoder({ huffman: false })
    encoder.setPeerMaxTableBytes(0)
    expect(encode(encoder, [field('a', 'b')])).toBe('2000016101' + '62')
    expect(encode(encoder, [field('a', 'b')])).toBe('0001610162')
  })

  it('changes nothing when there is no room, or a character is no byte', () => {
    const encoder = new HpackEncoder()
    const fields = [field('x-tenant', 'acme')]
    expect(() => encoder.encode(fields, new Uint8Array(12), 0)).toThrow(
      'a header block may need 40 bytes; there is room for 12',
    )
    expect(() => encode(encoder, [...fields, field('x', '\u010a')])).toThrow(
      '"Ċ" cannot be sent in a header: characters must be below U+0100',
    )
    expect(encode(encoder, fields)).toMatch(/^40/)
  })
})

describe('a block that was encoded once', () => {
  const fields = [
    field(':status', '200'),
    field('content-type', 'application/grpc'),
    { name: 'grpc-status', value: '0', sensitive: true },
    field('x-any', '\u00e9'),
  ]

  it('means the same at any time on any connection', () => {
    const decoder = new HpackDecoder(4096, limits)
    const block = hexOf(encodedOnce(fields))
    const read = fields.map((each) => ({ sensitive: false, ...each }))
    const before = decoder.tableVersion
    expect(decode(decoder, block)).toEqual(read)
    expect(decode(decoder, block)).toEqual(read)
    expect(decoder.tableVersion).toBe(before)
  })

  it('can be written at an offset', () => {
    const out = new Uint8Array(200)
    const end = encodeWithoutTable(fields, out, 7)
    expect(hexOf(out.subarray(7, end))).toBe(hexOf(encodedOnce(fields)))
  })
})
