import type { HeaderField } from './hpack/hpack-encoder.ts'

/**
 * How an answer ends, once all its data is sent: with the last DATA frame, with the trailers of a good answer, or with
 * other trailers.
 */
export type Ending = 'data' | 'ok' | readonly HeaderField[]

/** Holds the data of an answer that the client's windows do not admit yet. */
export class Outbox {
  readonly #chunks: Uint8Array[] = []
  #first = 0
  #offset = 0
  bytes = 0
  ending: Ending | undefined
  /** The handler is waiting, and must be notified when it may continue. */
  waiting = false

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.bytes += chunk.length
  }

  /** Copies the next `size` bytes, which must be there, and returns the offset behind them. */
  take(size: number, out: Uint8Array, start: number): number {
    this.bytes -= size
    let at = start
    let left = size
    while (left > 0) {
      const chunk = this.#chunks[this.#first]
      const count = Math.min(left, chunk.length - this.#offset)
      out.set(chunk.subarray(this.#offset, this.#offset + count), at)
      at += count
      left -= count
      this.#offset += count
      if (this.#offset === chunk.length) this.#dropFirst()
    }
    return at
  }

  #dropFirst(): void {
    this.#offset = 0
    this.#first++
    if (this.#first < 64 && this.#first < this.#chunks.length) return
    this.#chunks.splice(0, this.#first)
    this.#first = 0
  }
}
