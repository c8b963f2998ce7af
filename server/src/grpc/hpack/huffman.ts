/**
 * Returns the length of each symbol's code in RFC 7541, Appendix B; the last is EOS. The code is canonical (codes of
 * one length follow each other in the order of their symbols), so that the lengths say it all.
 */
// biome-ignore format: sixteen symbols a line
const CODE_BITS = Uint8Array.of(
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
)
const EOS = 256
const MIN_BITS = 5
const MAX_BITS = 30

/** Marks an entry of the decoding table as the start of another page instead of a symbol. */
const FURTHER = 0x8000

const CODES = canonicalCodes()
const DECODING = decodingTable()

function canonicalCodes(): Uint32Array {
  const codes = new Uint32Array(CODE_BITS.length)
  let code = 0
  for (let bits = MIN_BITS; bits <= MAX_BITS; bits++) {
    for (let symbol = 0; symbol <= EOS; symbol++) if (CODE_BITS[symbol] === bits) codes[symbol] = code++
    code *= 2
  }
  return codes
}

/**
 * Returns pages of 256 entries, looked up by the next 8 bits. An entry holds a symbol and, above it, how many of these
 * bits are its own; or FURTHER and the page for the bits that follow. 0 is EOS, which no text may contain.
 */
function decodingTable(): Uint16Array {
  const pages: Uint16Array[] = [new Uint16Array(256)]
  for (let symbol = 0; symbol <= EOS; symbol++) {
    let bits = CODE_BITS[symbol]
    let page = pages[0]
    for (; bits > 8; bits -= 8) {
      const byte = (CODES[symbol] >>> (bits - 8)) & 0xff
      if (page[byte] === 0) page[byte] = FURTHER | (pages.push(new Uint16Array(256)) - 1)
      page = pages[page[byte] & ~FURTHER]
    }
    const first = (CODES[symbol] << (8 - bits)) & 0xff
    if (symbol !== EOS) page.fill((bits << 8) | symbol, first, first + (1 << (8 - bits)))
  }
  const table = new Uint16Array(pages.length * 256)
  pages.forEach((page, i) => {
    table.set(page, i * 256)
  })
  return table
}

/** Returns how many bytes a coded text of this length can become at most. */
export const mostDecoded = (codedBytes: number): number => Math.floor((codedBytes * 8) / MIN_BITS)

/**
 * Writes the text of block[start, end) to out, which must have room for mostDecoded, and returns its length. It returns
 * -1 where RFC 7541, 5.2 asks for an error: EOS in the text, padding of 8 bits or more, padding with a zero.
 */
export function decodeHuffman(block: Uint8Array, start: number, end: number, out: Uint8Array): number {
  let length = 0
  let bits = 0
  let unread = 0
  let page = 0
  for (let i = start; i < end; i++) {
    bits = ((bits << 8) | block[i]) & 0xffff
    unread += 8
    do {
      const entry = DECODING[page | ((bits >>> (unread - 8)) & 0xff)]
      if (entry >= FURTHER) {
        page = (entry & ~FURTHER) << 8
        unread -= 8
      } else {
        if (entry === 0) return -1
        out[length++] = entry
        unread -= entry >>> 8
        page = 0
      }
    } while (unread >= 8)
  }
  while (unread > 0) {
    const entry = DECODING[page | ((bits << (8 - unread)) & 0xff)]
    if (entry >= FURTHER || entry === 0 || entry >>> 8 > unread) break
    out[length++] = entry
    unread -= entry >>> 8
    page = 0
  }
  const padding = (1 << unread) - 1
  return page === 0 && (bits & padding) === padding ? length : -1
}

/** Returns how many bytes the coded text takes. Characters must be below U+0100. */
export function codedLength(text: string): number {
  let bits = 0
  for (let i = 0; i < text.length; i++) bits += CODE_BITS[text.charCodeAt(i)]
  return (bits + 7) >>> 3
}

/** Writes the coded text to out and returns the offset behind it. Characters must be below U+0100. */
export function encodeHuffman(text: string, out: Uint8Array, offset: number): number {
  let at = offset
  let bits = 0
  let unwritten = 0
  for (let i = 0; i < text.length; i++) {
    const symbol = text.charCodeAt(i)
    let code = CODES[symbol]
    let length = CODE_BITS[symbol]
    // Up to 7 bits wait, and a shift of a 32-bit number can take 24 more: longer codes go in two parts.
    if (length > 24) {
      length -= 16
      bits = (bits << length) | (code >>> 16)
      for (unwritten += length; unwritten >= 8; unwritten -= 8) out[at++] = bits >>> (unwritten - 8)
      code &= 0xffff
      length = 16
    }
    bits = (bits << length) | code
    for (unwritten += length; unwritten >= 8; unwritten -= 8) out[at++] = bits >>> (unwritten - 8)
  }
  if (unwritten > 0) out[at++] = (bits << (8 - unwritten)) | (0xff >>> unwritten)
  return at
}
