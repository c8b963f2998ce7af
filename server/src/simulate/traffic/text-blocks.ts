import { isAscii } from 'node:buffer'

const NEWLINE = 0x0a
/** A longer line is not read: no access log has any, and what has no line breaks is no log. */
export const MAX_LINE_BYTES = 65_536

/** Whole lines, each with its line break, and how many longer ones were passed over before them. */
export interface TextBlock {
  readonly text: string
  readonly tooLong: number
  /** How many bytes of the traffic have been read up to the end of this block. */
  readonly endByte: number
}

/**
 * Cuts bytes into blocks of whole lines, in memory bounded by the chunks and one line. A block of ASCII, which most
 * are, becomes a text without looking at each character.
 */
export async function* textBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<TextBlock> {
  let rest: Buffer = EMPTY
  let isSkipping = false
  let tooLong = 0
  let byte = 0
  for await (const chunk of chunks) {
    let from = 0
    if (isSkipping) {
      const end = chunk.indexOf(NEWLINE)
      byte += end < 0 ? chunk.length : end + 1
      if (end < 0) continue
      from = end + 1
      isSkipping = false
    }
    const last = chunk.lastIndexOf(NEWLINE)
    if (last >= from) {
      const whole = chunk.subarray(from, last + 1)
      const block = rest.length === 0 ? whole : Buffer.concat([rest, whole])
      byte += block.length
      yield { text: textOf(block), tooLong, endByte: byte }
      tooLong = 0
      rest = chunk.subarray(last + 1)
    } else rest = Buffer.concat([rest, chunk.subarray(from)])
    if (rest.length > MAX_LINE_BYTES) {
      tooLong++
      byte += rest.length
      rest = EMPTY
      isSkipping = true
    } else rest = Buffer.from(rest)
  }
  if (rest.length > 0 || tooLong > 0) yield { text: textOf(rest), tooLong, endByte: byte + rest.length }
}

const EMPTY = Buffer.alloc(0)

function textOf(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString('latin1') : bytes.toString('utf8')
}
