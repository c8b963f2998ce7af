const END = Buffer.from('\r\n\r\n')
const LF = 0x0a
const CR = 0x0d

/** What HeadBuffer.take answers when there is no head yet. */
export const INCOMPLETE = -1
export const TOO_LARGE = -2
export const BARE_LF = -3

/**
 * Collects the bytes of a head until its empty line. A sender that sends byte by byte makes it copy each byte twice on
 * average, and look at it once.
 */
export class HeadBuffer {
  readonly #maxBytes: number
  #held: Buffer | undefined
  #heldBytes = 0
  /** The head that take found, without its empty line. */
  text = ''

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get isEmpty(): boolean {
    return this.#heldBytes === 0
  }

  /** Returns what a head that is not complete takes. */
  get heldBytes(): number {
    return this.#held?.length ?? 0
  }

  /** Looks for the end of a head in `data` from `from` on, and returns where the bytes after it begin in `data`. */
  take(data: Buffer, from: number): number {
    if (this.#heldBytes > 0) return this.#takeMore(data, from)
    const end = data.indexOf(END, from)
    if (end >= 0) {
      if (end - from > this.#maxBytes) return TOO_LARGE
      this.text = data.toString('latin1', from, end)
      return end + 4
    }
    if (data.length - from > this.#maxBytes) return TOO_LARGE
    if (hasBareLf(data, from, data.length)) return BARE_LF
    this.#hold(data, from)
    return INCOMPLETE
  }

  #takeMore(data: Buffer, from: number): number {
    const before = this.#heldBytes
    this.#hold(data, from)
    const held = this.#held as Buffer
    const all = held.subarray(0, this.#heldBytes)
    const lookFrom = Math.max(before - 3, 0)
    const end = all.indexOf(END, lookFrom)
    if ((end < 0 ? this.#heldBytes : end) > this.#maxBytes) return TOO_LARGE
    if (end < 0) return hasBareLf(all, before, all.length) ? BARE_LF : INCOMPLETE
    this.text = all.toString('latin1', 0, end)
    this.#held = undefined
    this.#heldBytes = 0
    return from + end + 4 - before
  }

  #hold(data: Buffer, from: number): void {
    const bytes = Math.min(data.length - from, this.#maxBytes + 4 - this.#heldBytes + 1)
    const needed = this.#heldBytes + bytes
    if (this.#held === undefined || this.#held.length < needed) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * (this.#held?.length ?? 128)))
      this.#held?.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    data.copy(this.#held, this.#heldBytes, from, from + bytes)
    this.#heldBytes = needed
  }
}

/** Finds a line that does not end with CR LF, so that its sender need not wait for an answer. */
function hasBareLf(data: Buffer, from: number, to: number): boolean {
  for (let at = data.indexOf(LF, from); at >= 0 && at < to; at = data.indexOf(LF, at + 1)) {
    if (at === 0 || data[at - 1] !== CR) return true
  }
  return false
}
