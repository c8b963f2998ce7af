const FIRST_BYTES = 16_384
const MAX_KEPT = 256

/** Lends the buffers that answers are written into; idle connections hold none. */
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

/** Collects the frames of a turn. Write into `bytes` after `reserve`, then move `length`. */
export class OutputBuffer {
  readonly #pool: BufferPool
  bytes: Buffer = NONE
  length = 0

  constructor(pool: BufferPool) {
    this.#pool = pool
  }

  /** Reserves `size` more bytes and returns their offset. `bytes` may be another buffer afterwards. */
  reserve(size: number): number {
    if (this.length + size > this.bytes.length) this.#grow(this.length + size)
    return this.length
  }

  /** Returns the buffer, which holds `length` bytes, and starts a new one. */
  take(): Buffer {
    const { bytes } = this
    this.bytes = NONE
    this.length = 0
    return bytes
  }

  /** Returns a buffer that is no longer read. */
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
