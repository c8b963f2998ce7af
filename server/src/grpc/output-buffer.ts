const FIRST_BYTES = 16_384
const MAX_KEPT = 256

/** BufferPool lends the buffers that answers are written into; idle connections hold none. */
export class BufferPool {
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  give(buffer: Buffer): void {
    if (buffer.length === FIRST_BYTES && this.#free.length < MAX_KEPT) this.#free.push(buffer)
  }
}

const NONE = Buffer.alloc(0)

/** OutputBuffer collects the frames of a turn. Write into `bytes` after `reserve`, then move `length`. */
export class OutputBuffer {
  readonly #pool: BufferPool
  bytes: Buffer = NONE
  length = 0

  constructor(pool: BufferPool) {
    this.#pool = pool
  }

  /** reserve makes room for `size` more bytes and returns where they go. `bytes` may be another buffer afterwards. */
  reserve(size: number): number {
    if (this.length + size > this.bytes.length) this.#grow(this.length + size)
    return this.length
  }

  /** take hands over the buffer, which holds `length` bytes, and starts anew. */
  take(): Buffer {
    const { bytes } = this
    this.bytes = NONE
    this.length = 0
    return bytes
  }

  /** giveBack returns a buffer that nobody reads any more. */
  giveBack(buffer: Buffer): void {
    this.#pool.give(buffer)
  }

  #grow(size: number): void {
    const old = this.bytes
    if (old === NONE && size <= FIRST_BYTES) {
      this.bytes = this.#pool.take()
      return
    }
    const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * old.length, 4 * FIRST_BYTES))
    old.copy(grown, 0, 0, this.length)
    this.#pool.give(old)
    this.bytes = grown
  }
}
