import fc from 'fast-check'
import protobuf from 'protobufjs'
import { describe, expect, it } from 'vitest'
import {
  boolField,
  bytesField,
  doubleField,
  join,
  messageField,
  numberField,
  textField,
  varintSize,
  writeVarint,
} from './writer.ts'

describe('the writer', () => {
  it('writes numbers that another implementation reads, in as many bytes as it says', () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(20_000), fc.nat(), fc.maxSafeNat()), (value) => {
        const bytes = new Uint8Array(16)
        const end = writeVarint(bytes, 3, value)
        expect(end - 3).toBe(varintSize(value))
        expect(Number(protobuf.Reader.create(bytes.subarray(3, end)).uint64())).toBe(value)
      }),
      { numRuns: 1_000 },
    )
  })

  it('writes fields', () => {
    const written = join([
      numberField(1, 300),
      boolField(2, true),
      textField(3, 'größe'),
      bytesField(200, Uint8Array.of(1, 2)),
      messageField(5, numberField(1, 7), textField(2, 'a')),
      doubleField(6, 1.5),
    ])
    const expected = protobuf.Writer.create()
    expected.uint32(8).uint32(300).uint32(16).bool(true).uint32(26).string('größe')
    expected
      .uint32(1602)
      .bytes(Uint8Array.of(1, 2))
      .uint32(42)
      .fork()
      .uint32(8)
      .uint32(7)
      .uint32(18)
      .string('a')
      .ldelim()
    expected.uint32(49).double(1.5)
    expect(Buffer.from(written)).toEqual(Buffer.from(expected.finish()))
  })

  it('leaves defaults out, unless they are to be seen', () => {
    expect(join([numberField(1, 0), boolField(2, false), textField(3, '')])).toHaveLength(0)
    expect([...numberField(1, 0, true)]).toEqual([8, 0])
    expect([...messageField(4)]).toEqual([34, 0])
  })
})
