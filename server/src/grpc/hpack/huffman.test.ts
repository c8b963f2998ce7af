import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codedLength, decodeHuffman, encodeHuffman, mostDecoded } from './huffman.ts'

function decode(hex: string): string | undefined {
  const bytes = new Uint8Array(Buffer.from(hex, 'hex'))
  const out = new Uint8Array(mostDecoded(bytes.length))
  const length = decodeHuffman(bytes, 0, bytes.length, out)
  return length < 0 ? undefined : Buffer.from(out.subarray(0, length)).toString('latin1')
}

function encode(text: string): string {
  const out = new Uint8Array(text.length * 4)
  return Buffer.from(out.subarray(0, encodeHuffman(text, out, 0))).toString('hex')
}

describe('the Huffman code', () => {
  // Appendix B prints these codes; the ones between follow from the order of the symbols.
  it.each([
    ['0', '07'],
    ['a', '1f'],
    [' ', '53'],
    ['\u0000', 'ffc7'],
    ['\n', 'fffffff3'],
    ['\r', 'fffffff7'],
    ['\u0016', 'fffffffb'],
    ['\\', 'fffe1f'],
    ['\u00ff', 'fffffbbf'],
    ['\u007f', 'ffffffcf'],
  ])('of %j, padded with ones, is %s', (text, hex) => {
    expect(encode(text)).toBe(hex)
    expect(decode(hex)).toBe(text)
  })

  it('decodes every text, in the predicted length', () => {
    const text = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) })
    fc.assert(
      fc.property(text, (value) => {
        const hex = encode(value)
        expect(hex.length / 2).toBe(codedLength(value))
        expect(decode(hex)).toBe(value)
      }),
      { numRuns: 2_000 },
    )
  })

  it('gives back every pair of symbols', () => {
    for (let first = 0; first < 256; first++) {
      for (let second = 0; second < 256; second++) {
        const text = String.fromCharCode(first, second)
        if (decode(encode(text)) !== text) expect.fail(`${first}, ${second}`)
      }
    }
  })

  it.each([
    ['EOS alone', 'ffffffff'],
    ['EOS after a symbol', '1fffffffff'],
    ['a whole byte of padding', 'ff'],
    ['a byte of padding after a symbol that fills its own', 'f8ff'],
    ['padding with a zero in it', '1e'],
    ['padding with zeros', '18'],
    ['two bytes of padding', 'ffff'],
    ['three bytes of padding', 'ffffff'],
    ['the start of a long code', 'fffffe'],
  ])('refuses %s', (_, hex) => {
    expect(decode(hex)).toBeUndefined()
  })

  it('reads the empty text', () => {
    expect(decode('')).toBe('')
  })
})
