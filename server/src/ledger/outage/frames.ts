import { crc32 } from 'node:zlib'
import { SluiceError } from 'sluice/internal/core/errors'

// A frame is its length and checksum, its number, and a text: u32 of the bytes after the checksum, their CRC-32, u32
// number, UTF-8. Numbers rise by one from frame to frame, so that a frame that is missing is noticed.

const HEAD_BYTES = 8
const NUMBER_BYTES = 4
const LEAST_BYTES = NUMBER_BYTES
/** The largest frame: an operation with the longest names takes less than 1 KiB. */
const MOST_BYTES = 4096

export function frameOf(number: number, text: string): Buffer {
  const body = Buffer.allocUnsafe(NUMBER_BYTES + Buffer.byteLength(text))
  body.writeUInt32LE(number, 0)
  body.write(text, NUMBER_BYTES)
  const frame = Buffer.allocUnsafe(HEAD_BYTES + body.length)
  frame.writeUInt32LE(body.length, 0)
  frame.writeUInt32LE(crc32(body), 4)
  body.copy(frame, HEAD_BYTES)
  return frame
}

interface Frame {
  readonly number: number
  readonly text: string
  readonly end: number
}

function frameAt(bytes: Buffer, at: number): Frame | undefined {
  if (at + HEAD_BYTES > bytes.length) return undefined
  const length = bytes.readUInt32LE(at)
  const end = at + HEAD_BYTES + length
  if (length < LEAST_BYTES || length > MOST_BYTES || end > bytes.length) return undefined
  const body = bytes.subarray(at + HEAD_BYTES, end)
  if (crc32(body) !== bytes.readUInt32LE(at + 4)) return undefined
  return { number: body.readUInt32LE(0), text: body.toString('utf8', NUMBER_BYTES), end }
}

/**
 * Reads whole frames, up to a tail that was not written to its end: that was never confirmed. Damage with whole frames
 * behind it is no such tail, and throws LEDGER_JOURNAL_DAMAGED: those were confirmed.
 */
export function framesOf(bytes: Buffer, where: string): { readonly texts: string[]; readonly size: number } {
  const texts: string[] = []
  let size = 0
  for (let frame = frameAt(bytes, 0); frame?.number === texts.length; frame = frameAt(bytes, size)) {
    texts.push(frame.text)
    size = frame.end
  }
  for (let at = size; at + HEAD_BYTES + LEAST_BYTES <= bytes.length; at++) {
    const frame = frameAt(bytes, at)
    if (frame !== undefined && frame.number >= texts.length) {
      throw new SluiceError(
        'LEDGER_JOURNAL_DAMAGED',
        where,
        `record ${texts.length} at byte ${size} is not what was written`,
      )
    }
  }
  return { texts, size }
}
