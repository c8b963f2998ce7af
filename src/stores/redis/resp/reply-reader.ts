import { ProtocolError, type Reply, ReplyError } from './reply.ts'

/** No reply to what is asked here is nearly as large. */
const MAX_REPLY_BYTES = 4_194_304
const MAX_DEPTH = 8
const SHORT_BYTES = 64
const CR = 0x0d
const LF = 0x0a
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
/** From 2^53 on, neighbouring whole numbers can no longer be distinguished. */
const MAX_DIGITS = 16

const NOTHING = Buffer.alloc(0)
/** What is there is not a whole reply yet. */
const INCOMPLETE = Symbol('incomplete')

/** Reads replies (RESP 2) from the bytes that come in, in whatever pieces. */
export class ReplyReader {
  readonly #onReply: (reply: Reply) => void
  /** What is read: a piece as it came, or one that begins with what was left of those before. */
  #bytes: Buffer = NOTHING
  #at = 0
  /** The beginning of a reply whose end has not come yet. */
  #rest: Buffer = NOTHING
  /** This many bytes must have arrived before it is worth parsing again. */
  #needed = 0

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply
  }

  /** Takes a piece, which may be used again afterwards. It throws a ProtocolError when that is no reply. */
  read(piece: Buffer): void {
    this.#bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    this.#at = 0
    let start = 0
    if (this.#bytes.length >= this.#needed) start = this.#readAll()
    if (this.#bytes.length - start > MAX_REPLY_BYTES) throw new ProtocolError('the reply is too large')
    this.#rest = start === this.#bytes.length ? NOTHING : Buffer.from(this.#bytes.subarray(start))
    this.#bytes = NOTHING
  }

  /** Reads the whole replies, and returns where the next one begins. */
  #readAll(): number {
    let start = 0
    while (this.#at < this.#bytes.length) {
      this.#needed = 0
      const reply = this.#reply(0)
      if (reply === INCOMPLETE) {
        this.#needed -= start
        return start
      }
      start = this.#at
      this.#onReply(reply)
    }
    this.#needed = 0
    return start
  }

  #reply(depth: number): Reply | typeof INCOMPLETE {
    const mark = this.#bytes[this.#at++]
    if (mark === undefined) return INCOMPLETE
    const start = this.#at
    const end = this.#lineEnd()
    if (end < 0) return INCOMPLETE
    switch (mark) {
      case 0x24: // $
        return this.#blob(this.#number(start, end))
      case 0x3a: // :
        return this.#number(start, end)
      case 0x2b: // +
        return this.#bytes.toString('utf8', start, end)
      case 0x2d: // -
        return new ReplyError(this.#bytes.toString('utf8', start, end))
      case 0x2a: // *
        return this.#list(this.#number(start, end), depth)
      default:
        throw new ProtocolError(`unknown reply type, byte ${mark}`)
    }
  }

  /** Returns where the line ends, and moves past it; -1 if its end has not arrived. */
  #lineEnd(): number {
    const bytes = this.#bytes
    for (let i = this.#at; i + 1 < bytes.length; i++) {
      if (bytes[i] !== CR) continue
      if (bytes[i + 1] !== LF) throw new ProtocolError('a line does not end with CRLF')
      this.#at = i + 2
      return i
    }
    return -1
  }

  #number(start: number, end: number): number {
    const isNegative = this.#bytes[start] === MINUS
    const first = isNegative ? start + 1 : start
    if (first === end || end - first > MAX_DIGITS) throw new ProtocolError('a number is missing, or too large')
    let value = 0
    for (let i = first; i < end; i++) {
      const byte = this.#bytes[i]
      if (byte < ZERO || byte > NINE) throw new ProtocolError('expected a number')
      value = value * 10 + (byte - ZERO)
    }
    return isNegative ? -value : value
  }

  #blob(length: number): Reply | typeof INCOMPLETE {
    if (length === -1) return null
    if (length < 0 || length > MAX_REPLY_BYTES) throw new ProtocolError('the reply is too large')
    const start = this.#at
    const end = start + length
    if (end + 2 > this.#bytes.length) {
      this.#needed = end + 2
      return INCOMPLETE
    }
    if (this.#bytes[end] !== CR || this.#bytes[end + 1] !== LF)
      throw new ProtocolError('a string does not end where its length says')
    this.#at = end + 2
    const copy = Buffer.allocUnsafe(length)
    // What is short is copied without a view on it, which would be larger than the bytes.
    if (length > SHORT_BYTES) copy.set(this.#bytes.subarray(start, end))
    else for (let i = 0; i < length; i++) copy[i] = this.#bytes[start + i]
    return copy
  }

  #list(length: number, depth: number): Reply | typeof INCOMPLETE {
    if (length === -1) return null
    if (length < 0 || length > MAX_REPLY_BYTES || depth === MAX_DEPTH) throw new ProtocolError('the reply is too large')
    const items: Reply[] = []
    for (let i = 0; i < length; i++) {
      const item = this.#reply(depth + 1)
      if (item === INCOMPLETE) return INCOMPLETE
      items.push(item)
    }
    return items
  }
}
