import { FRAME_HEAD_BYTES, MAX_FRAME_BYTES, PREFACE, readUint31 } from './frames.ts'

/**
 * Takes what a FrameReader finds. Payloads are a range of `bytes`, valid until `push` returns. Frames come as numbers,
 * not as an object: making one for each would cost more than reading it.
 */
export interface FrameSink {
  onBadPreface(): void
  onFrame(type: number, flags: number, streamId: number, bytes: Uint8Array, start: number, end: number): void
  /** Gets the head of a frame that is larger than we allow; its payload is not read. */
  onOversizedFrame(type: number, streamId: number): void
}

const FIRST_REST_BYTES = 1_024

/**
 * Cuts chunks of a connection into frames. A frame that lies in one chunk is handed on where it is; only one that is
 * split between chunks is copied, into a buffer that grows with what has arrived, so that announcing a large frame
 * costs us nothing.
 */
export class FrameReader {
  readonly #sink: FrameSink
  #prefaceBytes = 0
  #rest: Uint8Array | undefined
  #restBytes = 0
  #stopped = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** Says that the end of a frame, or of the preface, is still missing. */
  get partial(): boolean {
    return this.#restBytes > 0 || this.#prefaceBytes < PREFACE.length
  }

  /** Returns what is kept of a frame that is not complete. */
  get heldBytes(): number {
    return this.#rest?.length ?? 0
  }

  /** Makes the reader ignore the rest of the connection, including that of the chunk at hand. */
  stop(): void {
    this.#stopped = true
    this.#rest = undefined
    this.#restBytes = 0
  }

  /** Reads a chunk. The chunk belongs to the caller again when push returns. */
  push(chunk: Uint8Array): void {
    if (this.#stopped) return
    let at = 0
    if (this.#prefaceBytes < PREFACE.length) at = this.#readPreface(chunk)
    if (this.#restBytes > 0) at = this.#completeRest(chunk, at)
    at = this.#readWhole(chunk, at)
    if (at < chunk.length && !this.#stopped) this.#keep(chunk, at, chunk.length)
  }

  #readPreface(chunk: Uint8Array): number {
    let at = 0
    while (at < chunk.length && this.#prefaceBytes < PREFACE.length) {
      if (chunk[at++] !== PREFACE[this.#prefaceBytes++]) {
        this.stop()
        this.#sink.onBadPreface()
        return at
      }
    }
    return at
  }

  /** Hands on the frames that are complete in the chunk, and returns where the first incomplete one begins. */
  #readWhole(chunk: Uint8Array, from: number): number {
    const end = chunk.length
    let at = from
    while (end - at >= FRAME_HEAD_BYTES && !this.#stopped) {
      const length = (chunk[at] << 16) | (chunk[at + 1] << 8) | chunk[at + 2]
      if (length > MAX_FRAME_BYTES) {
        this.#refuse(chunk, at)
        return end
      }
      const payload = at + FRAME_HEAD_BYTES
      if (end - payload < length) return at
      at = payload + length
      this.#sink.onFrame(chunk[payload - 6], chunk[payload - 5], readUint31(chunk, payload - 4), chunk, payload, at)
    }
    return at
  }

  /** Adds what the kept frame lacks, and hands it on when that is all there. */
  #completeRest(chunk: Uint8Array, from: number): number {
    let at = this.#top(chunk, from, FRAME_HEAD_BYTES)
    if (this.#restBytes < FRAME_HEAD_BYTES || this.#stopped) return at
    const head = this.#rest!
    const length = (head[0] << 16) | (head[1] << 8) | head[2]
    if (length > MAX_FRAME_BYTES) {
      this.#refuse(head, 0)
      return at
    }
    const size = FRAME_HEAD_BYTES + length
    at = this.#top(chunk, at, size)
    if (this.#restBytes < size) return at
    // A fresh buffer for the next split frame: this payload may be kept until the chunk ends.
    const rest = this.#rest!
    this.#rest = undefined
    this.#restBytes = 0
    this.#sink.onFrame(rest[3], rest[4], readUint31(rest, 5), rest, FRAME_HEAD_BYTES, size)
    return at
  }

  /** Fills the kept bytes up to `size`, as far as the chunk reaches, and returns how far it read. */
  #top(chunk: Uint8Array, from: number, size: number): number {
    const missing = size - this.#restBytes
    if (missing <= 0) return from
    const end = Math.min(chunk.length, from + missing)
    if (end > from) this.#keep(chunk, from, end)
    return end
  }

  #keep(chunk: Uint8Array, from: number, end: number): void {
    const size = this.#restBytes + end - from
    let rest = this.#rest
    if (rest === undefined || rest.length < size) {
      rest = Buffer.allocUnsafe(Math.max(size, FIRST_REST_BYTES, 2 * this.#restBytes))
      if (this.#rest !== undefined) rest.set(this.#rest.subarray(0, this.#restBytes))
      this.#rest = rest
    }
    rest.set(chunk.subarray(from, end), this.#restBytes)
    this.#restBytes = size
  }

  #refuse(bytes: Uint8Array, at: number): void {
    this.stop()
    this.#sink.onOversizedFrame(bytes[at + 3], readUint31(bytes, at + 5))
  }
}
