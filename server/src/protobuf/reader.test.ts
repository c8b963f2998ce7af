import fc from 'fast-check'
import protobuf from 'protobufjs'
import { describe, expect, it } from 'vitest'
import { MalformedMessage, ProtoReader } from './reader.ts'
import { texts } from './texts.suite.ts'

const reader = new ProtoReader()

function opened(bytes: readonly number[] | Uint8Array): ProtoReader {
  const message = Uint8Array.from(bytes)
  reader.open(message, 0, message.length)
  return reader
}

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

function varint(value: bigint): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)]
    bytes.push(Number(rest & 127n) | 128)
  }
}

describe('ProtoReader', () => {
  it('reads what another implementation wrote', () => {
    fc.assert(
      fc.property(
        fc.nat(2 ** 31 - 1),
        fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 }),
        texts(50),
        (small, whole, text) => {
          const bytes = protobuf.Writer.create().uint32(small).sint64(whole).string(text).finish()
          const read = opened(bytes)
          const end = bytes.length
          expect([read.uint32(end), read.sint64(end), read.text(read.part(end))]).toEqual([small, whole, text])
        },
      ),
    )
  })

  it('keeps the lower 32 bits of a number where the type has no more', () => {
    fc.assert(
      fc.property(u64, (value) => {
        const bytes = varint(value)
        expect(opened(bytes).uint32(bytes.length)).toBe(Number(value & 0xffff_ffffn))
      }),
    )
  })

  it('reads 64 bits as the nearest number there is', () => {
    fc.assert(
      fc.property(u64, (value) => {
        const bytes = varint(value)
        const read = opened(bytes).uint64(bytes.length)
        if (value <= BigInt(Number.MAX_SAFE_INTEGER)) expect(read).toBe(Number(value))
        else expect(Math.abs(read / Number(value) - 1)).toBeLessThan(1e-15)
      }),
    )
  })

  it('keeps the sign of numbers that are too large to be exact', () => {
    const signs = [2n ** 64n - 1n, 2n ** 64n - 2n, 2n ** 53n + 1n].map((zigzag) => {
      const bytes = varint(zigzag)
      return Math.sign(opened(bytes).sint64(bytes.length))
    })
    expect(signs).toEqual([-1, 1, -1])
  })

  it('reads the same name as the same text, and another one at its place as itself', () => {
    fc.assert(
      fc.property(fc.array(texts(80)), (names) => {
        for (const name of [...names, ...names]) {
          const bytes = Buffer.from(name)
          expect(opened(bytes).name(bytes.length)).toBe(name)
        }
      }),
    )
  })

  it('keeps names apart that meet in the table', () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `name-${i}`)
    for (const name of names) {
      const bytes = Buffer.from(name)
      expect(opened(bytes).name(bytes.length)).toBe(name)
    }
  })

  it('keeps bytes apart that are not UTF-8, and apart from every proper text', () => {
    const texts = fc.tuple(fc.uint8Array({ maxLength: 6 }), fc.uint8Array({ maxLength: 6 }))
    fc.assert(
      fc.property(texts, ([a, b]) => {
        const [readA, readB] = [a, b].map((bytes) => opened(bytes).text(bytes.length))
        expect(readA === readB).toBe(Buffer.compare(a, b) === 0)
      }),
      { numRuns: 2_000 },
    )
    expect(opened([0x61, 0xff]).text(2)).toBe('a\udcff')
    expect(opened([0x61, 0xff]).name(2)).toBe('a\udcff')
    expect(opened(new Array(60_000).fill(0xff)).text(60_000)).toBe('\udcff'.repeat(60_000))
  })

  it.each<[string, number[]]>([
    ['a number', [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['eight bytes', [0x09, 1, 2, 3, 4, 5, 6, 7, 8]],
    ['bytes', [0x0a, 2, 1, 2]],
    ['four bytes', [0x0d, 1, 2, 3, 4]],
    ['a group', [0x0b, 0x08, 1, 0x0a, 1, 9, 0x0c]],
    ['a group within a group', [0x0b, 0x13, 0x08, 1, 0x14, 0x0c]],
    ['a field with a large number', [0xfa, 0xff, 0xff, 0xff, 0x0f, 1, 7]],
  ])('skips %s that is unknown', (_, bytes) => {
    const read = opened([...bytes, 0x2a])
    read.skip(read.tag(bytes.length), bytes.length)
    expect(read.at).toBe(bytes.length)
  })

  it.each<[string, number[], string]>([
    ['the field number 0', [0x02], 'a field has the number 0'],
    ['an unknown wire type', [0x0e], 'a field has the wire type 6'],
    ['a number that never ends', new Array(12).fill(0xff), 'a number has more than 10 bytes'],
    ['a number that is cut', [0x08, 0x80], 'the message ends in the middle of a field'],
    ['a length beyond the message', [0x0a, 3, 1, 2], 'a field is longer than its message'],
    ['a length of almost 4 GiB', [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1], 'a field is longer than its message'],
    ['eight bytes that are seven', [0x09, 1, 2, 3, 4, 5, 6, 7], 'the message ends in the middle of a field'],
    ['a group that does not end', [0x0b, 0x08, 1], 'the message ends in the middle of a field'],
    ['a group that ends as another', [0x0b, 0x14], 'a group ends that did not begin'],
    ['the end of a group that did not begin', [0x0c], 'a field has the wire type 4'],
    ['groups without end', new Array(1_000).fill(0x0b), 'groups are nested too deeply'],
  ])('refuses %s', (_, bytes, reason) => {
    const skip = (): void => {
      const read = opened(bytes)
      read.skip(read.tag(bytes.length), bytes.length)
    }
    expect(skip).toThrow(new MalformedMessage(reason))
  })

  it('refuses a part that is longer than the part around it, even if the message continues', () => {
    const read = opened([0x0a, 2, 0x0a, 3, 0x10, 1, 0x61])
    const outer = read.tag(7) === 0x0a ? read.part(7) : 0
    expect([outer, read.tag(outer)]).toEqual([4, 0x0a])
    expect(() => read.part(outer)).toThrow(new MalformedMessage('a field is longer than its message'))
  })

  it('reads nothing beyond the end, whatever the buffer holds there', () => {
    const buffer = Uint8Array.from([9, 9, 0x0a, 1, 0x61, 0x62])
    reader.open(buffer, 2, 5)
    expect(reader.tag(5)).toBe(0x0a)
    expect(reader.text(reader.part(5))).toBe('a')
    expect(() => reader.tag(5)).toThrow(MalformedMessage)
  })
})
