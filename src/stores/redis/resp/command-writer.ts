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
/** In UTF-8 a unit of a string takes three bytes at the most. */
const MAX_BYTES_A_UNIT = 3

/** CommandWriter spells commands as the bytes that a server reads (RESP 2). */
export class CommandWriter {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES)
  #length = 0

  /** write appends a command. */
  write(args: readonly (string | Uint8Array)[]): void {
    this.#reserve(LINE_BYTES)
    this.#line(ASTERISK, args.length)
    for (const arg of args) {
      if (typeof arg === 'string') this.#text(arg)
      else this.#blob(arg)
    }
  }

  /** take returns what was written since the last time. The bytes are the caller's. */
  take(): Buffer {
    // Not Buffer.from: this one comes out of the pool when it is small.
    const taken = Buffer.allocUnsafe(this.#length)
    taken.set(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES)
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

  /** #line writes a mark and a whole number. */
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
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
