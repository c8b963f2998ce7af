import type { FieldSet } from '../fields.ts'
import { trailerFault } from '../fields.ts'
import { readFieldLines } from './field-lines.ts'
import { BARE_LF, HeadBuffer, INCOMPLETE, TOO_LARGE } from './head-buffer.ts'
import { CHUNKED, UNTIL_CLOSE } from './read-response.ts'

/** Takes a body. Pieces are parts of the buffer that was read. */
export interface BodySink {
  bodyPiece(piece: Buffer): void
}

const State = {
  size: 0,
  extension: 1,
  sizeEnd: 2,
  data: 3,
  dataReturn: 4,
  dataEnd: 5,
  trailer: 6,
} as const

const CR = 0x0d
const LF = 0x0a
const MAX_SIZE_DIGITS = 12
/** Ignored chunk extensions of one body. */
const MAX_EXTENSION_BYTES = 4_096

/**
 * Takes the framing off a body: a length, chunks, or all until the connection ends. read returns how far it has come;
 * `wrong` says what was wrong, and `isDone` that the body has ended.
 */
export class BodyReader {
  readonly #sink: BodySink
  readonly #maxTrailerBytes: number
  #state: number = State.data
  #isChunked = false
  #left = 0
  #digits = 0
  #extensionBytes = 0
  #trailer: HeadBuffer | undefined
  isDone = true
  wrong: string | undefined
  trailers: FieldSet | undefined

  constructor(sink: BodySink, maxTrailerBytes: number) {
    this.#sink = sink
    this.#maxTrailerBytes = maxTrailerBytes
  }

  /** Prepares for a body of this many bytes, CHUNKED or UNTIL_CLOSE. */
  start(length: number): void {
    this.#isChunked = length === CHUNKED
    this.#state = this.#isChunked ? State.size : State.data
    this.#left = this.#isChunked ? 0 : length === UNTIL_CLOSE ? Number.POSITIVE_INFINITY : length
    this.#digits = 0
    this.#extensionBytes = 0
    this.#trailer = undefined
    this.isDone = length === 0
    this.wrong = undefined
    this.trailers = undefined
  }

  get endsWithConnection(): boolean {
    return this.#left === Number.POSITIVE_INFINITY
  }

  read(data: Buffer, from: number): number {
    let at = from
    while (at < data.length && !this.isDone && this.wrong === undefined) {
      if (this.#state === State.data) at = this.#readData(data, at)
      else if (this.#state === State.trailer) at = this.#readTrailer(data, at)
      else this.#readFraming(data[at++] as number)
    }
    return at
  }

  #readData(data: Buffer, from: number): number {
    const end = Math.min(from + this.#left, data.length)
    this.#left -= end - from
    if (this.#left === 0) {
      if (this.#isChunked) this.#state = State.dataReturn
      else this.isDone = true
    }
    this.#sink.bodyPiece(from === 0 && end === data.length ? data : data.subarray(from, end))
    return end
  }

  #readFraming(byte: number): void {
    switch (this.#state) {
      case State.size:
        this.#readSize(byte)
        return
      case State.extension:
        if (byte === CR) this.#state = State.sizeEnd
        else if (byte === LF || ++this.#extensionBytes > MAX_EXTENSION_BYTES)
          this.wrong = 'a chunk extension is invalid'
        return
      case State.sizeEnd:
        if (byte !== LF) this.wrong = 'a chunk size does not end with CR LF'
        else this.#state = this.#left === 0 ? State.trailer : State.data
        this.#digits = 0
        return
      case State.dataReturn:
        if (byte !== CR) this.wrong = 'a chunk does not end with CR LF'
        this.#state = State.dataEnd
        return
      default:
        if (byte !== LF) this.wrong = 'a chunk does not end with CR LF'
        this.#state = State.size
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      this.#left = this.#left * 16 + digit
      if (++this.#digits > MAX_SIZE_DIGITS) this.wrong = 'a chunk size is too large'
    } else if (this.#digits > 0 && byte === CR) this.#state = State.sizeEnd
    else if (this.#digits > 0 && byte === SEMICOLON) this.#state = State.extension
    else this.wrong = 'a chunk size is no number'
  }

  /** Reads what comes after the last chunk: an empty line, or fields and an empty line. */
  #readTrailer(data: Buffer, from: number): number {
    // An empty line alone ends it; with the end of a line before it, it is the end of a head like any other.
    if (this.#trailer === undefined) {
      this.#trailer = new HeadBuffer(this.#maxTrailerBytes)
      this.#trailer.take(LINE_END, 0)
    }
    const next = this.#trailer.take(data, from)
    if (next === INCOMPLETE) return data.length
    if (next === TOO_LARGE) this.wrong = 'trailers are too large'
    else if (next === BARE_LF) this.wrong = 'a trailer does not end with CR LF'
    if (next < 0) return data.length
    this.#takeTrailers(this.#trailer.text)
    return next
  }

  #takeTrailers(text: string): void {
    this.isDone = true
    if (text.length <= 2) return
    const fields = readFieldLines(text, 2, 256)
    const wrong = typeof fields === 'string' ? fields : trailerFault(fields)
    if (wrong === undefined) this.trailers = fields as FieldSet
    else this.wrong = wrong
  }
}

const LINE_END = Buffer.from('\r\n')
const SEMICOLON = 0x3b

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
