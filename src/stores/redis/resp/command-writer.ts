import { Views } from './views.ts'

const INITIAL_BYTES = 16_384
/** Room that was needed once is kept up to this. */
const MAX_KEPT_BYTES = 1_048_576
/** A length takes at most as many digits as this, and a line its mark and end. */
const LINE_BYTES = 16
const ASTERISK = 0x2a
const DOLLAR = 0x24
const CR = 0x0d
const LF = 0x0a
const ZERO = 0x30
const LAST_ASCII = 0x7f
/** In UTF-8 a unit of a string takes at most three bytes. */
const MAX_BYTES_A_UNIT = 3

/** Encodes commands as the bytes that a server reads (RESP 2). */
export class CommandWriter {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES)
  #length = 0
  #views = new Views(this.#bytes)

  /** Appends a command. */
  write(args: readonly (string | Uint8Array)[]): void {
    this.#reserve(LINE_BYTES)
    this.#line(ASTERISK, args.length)
    for (const arg of args) {
      if (typeof arg === 'string') this.#text(arg)
      else this.#blob(arg)
    }
  }

  /** How many bytes were written since the last time. */
  get length(): number {
    return this.#length
  }

  /** Returns what was written since the last time, without a copy: until giveBack, nothing may be written. */
  lend(): Buffer {
    const length = this.#length
    this.#length = 0
    return this.#views.of(length)
  }

  /** Ends what lend began. The bytes are reused, unless they are still being read. */
  giveBack(isRead: boolean): void {
    if (isRead && this.#bytes.length <= MAX_KEPT_BYTES) return
    this.#renew(INITIAL_BYTES)
  }

  /** Returns what was written since the last time. The bytes are the caller's. */
  take(): Buffer {
    // Not Buffer.from: this one comes out of the pool when it is small.
    const taken = Buffer.allocUnsafe(this.#length)
    taken.set(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#renew(INITIAL_BYTES)
    return taken
  }

  #text(text: string): void {
    this.#reserve(text.length * MAX_BYTES_A_UNIT + 2 * LINE_BYTES)
    const start = this.#length
    this.#line(DOLLAR, text.length)
    const bytes = this.#bytes
    let at = this.#length
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > LAST_ASCII) {
        this.#length = start
        this.#blob(Buffer.from(text))
        return
      }
      bytes[at++] = unit
    }
    this.#length = at
    this.#end()
  }

  #blob(blob: Uint8Array): void {
    this.#reserve(blob.length + 2 * LINE_BYTES)
    this.#line(DOLLAR, blob.length)
    this.#bytes.set(blob, this.#length)
    this.#length += blob.length
    this.#end()
  }

  /** Writes a mark and a whole number. */
  #line(mark: number, value: number): void {
    const bytes = this.#bytes
    bytes[this.#length++] = mark
    let scale = 1
    while (scale * 10 <= value) scale *= 10
    for (let rest = value; scale >= 1; scale /= 10) {
      const digit = Math.floor(rest / scale)
      bytes[this.#length++] = ZERO + digit
      rest -= digit * scale
    }
    this.#end()
  }

  #end(): void {
    this.#bytes[this.#length++] = CR
    this.#bytes[this.#length++] = LF
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const smaller = this.#bytes
    this.#renew(Math.max(needed, 2 * smaller.length))
    this.#bytes.set(smaller.subarray(0, this.#length))
  }

  #renew(bytes: number): void {
    this.#bytes = Buffer.allocUnsafe(bytes)
    this.#views = new Views(this.#bytes)
  }
}
