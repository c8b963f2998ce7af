import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HpackDecoder } from './hpack-decoder.ts'
import { encodeWithoutTable, type HeaderField, HpackEncoder, mostEncodedBytes } from './hpack-encoder.ts'
import { HpackError } from './hpack-error.ts'

const limits = { maxListBytes: 1 << 20, maxFields: 1000 }

const text = (maxLength: number) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength, unit: 'grapheme-ascii' }) },
    {
      weight: 1,
      arbitrary: fc.string({ maxLength, unit: fc.integer({ min: 0, max: 255 }).map((c) => String.fromCharCode(c)) }),
    },
  )

// Few names and values, so that they repeat and the tables are used; some of any kind.
const name = fc.oneof(fc.constantFrom(':path', ':status', 'grpc-status', 'x-a', 'x-b', 'cookie'), text(20))
const value = fc.oneof(fc.constantFrom('', '0', '200', '/', 'application/grpc', 'v'.repeat(900)), text(200))
const header: fc.Arbitrary<HeaderField> = fc.record({ name, value, sensitive: fc.boolean() })

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('block' as const), fields: fc.array(header, { maxLength: 12 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('fixed' as const), fields: fc.array(header, { maxLength: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('size' as const), bytes: fc.constantFrom(0, 33, 64, 300, 4096, 65_536) }),
  },
)

function decode(decoder: HpackDecoder, block: Uint8Array): HeaderField[] {
  const fields: HeaderField[] = []
  decoder.decode(block, 0, block.length, (each, its, sensitive) => fields.push({ name: each, value: its, sensitive }))
  return fields
}

describe('what an encoder writes, a decoder reads', () => {
  it('over many blocks, with changes of the size of the table in between', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, huffman) => {
        const encoder = new HpackEncoder({ huffman })
        const decoder = new HpackDecoder(4096, limits)
        for (const each of steps) {
          if (each.kind === 'size') {
            encoder.setPeerMaxTableBytes(each.bytes)
            decoder.setMaxTableBytes(each.bytes)
            continue
          }
          const out = new Uint8Array(mostEncodedBytes(each.fields))
          const end =
            each.kind === 'block'
              ? encoder.encode(each.fields, out, 0)
              : encodeWithoutTable(each.fields, out, encoder.writeSizeUpdate(out, 0))
          expect(decode(decoder, out.subarray(0, end))).toEqual(each.fields)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('any bytes', () => {
  const outcome = (decoder: HpackDecoder, block: Uint8Array): string => {
    try {
      return JSON.stringify(decode(decoder, block))
    } catch (error) {
      if (error instanceof HpackError) return error.code
      throw error
    }
  }

  it('are read or refused with an HpackError, and never read beyond the list that is allowed', () => {
    const small = { maxListBytes: 500, maxFields: 10 }
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 8 }), (blocks) => {
        const decoder = new HpackDecoder(200, small)
        for (const block of blocks) {
          let bytes = 0
          try {
            decoder.decode(block, 0, block.length, (each, its) => (bytes += each.length + its.length + 32))
          } catch (error) {
            expect(error).toBeInstanceOf(HpackError)
          }
          expect(bytes).toBeLessThanOrEqual(500)
        }
      }),
      { numRuns: 3_000 },
    )
  })

  it('mean the same again as long as the version of the table stays the same', () => {
    const block = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.constantFrom(Uint8Array.of(0x40, 1, 97, 1, 98), Uint8Array.of(0xbe)),
    )
    fc.assert(
      fc.property(fc.array(block, { maxLength: 20 }), (blocks) => {
        const decoder = new HpackDecoder(4096, limits)
        for (const each of blocks) {
          const before = decoder.tableVersion
          const first = outcome(decoder, each)
          if (decoder.tableVersion !== before || first === 'COMPRESSION_ERROR') continue
          expect(outcome(decoder, each)).toBe(first)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
