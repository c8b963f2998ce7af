const FIRST_BYTES = 1_024

/**
 * Keeps what came of a body before there was anyone to pass it on to. The first piece is kept as it is, which is all of
 * most bodies. More are copied together, each byte twice on average: a client that sends byte by byte has no Buffer of
 * 200 bytes held for each.
 */
export class HeldBody {
  #bytes: Buffer | undefined
  #length = 0
  #isOwn = false

  add(piece: Buffer): void {
    if (this.#bytes === undefined) {
      this.#bytes = piece
      this.#length = piece.length
      return
    }
    const needed = this.#length + piece.length
    if (!this.#isOwn || needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * needed))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
      this.#isOwn = true
    }
    piece.copy(this.#bytes, this.#length)
    this.#length = needed
  }

  /** Returns what has come, up to a number of bytes. */
  first(most: number): Buffer {
    return this.#bytes === undefined ? EMPTY : this.#bytes.subarray(0, Math.min(most, this.#length))
  }

  /** Returns everything that has arrived, and releases it. */
  take(): Buffer | undefined {
    const bytes = this.#bytes?.subarray(0, this.#length)
    this.#bytes = undefined
    this.#length = 0
    this.#isOwn = false
    return bytes
  }
}

const EMPTY = Buffer.alloc(0)
