import type { ServerStream } from './server-stream.ts'

/** Closure is how a stream came to its end, which decides what a late frame on it means (RFC 9113, 5.1). */
export const Closure = {
  /** It was never open: a later stream was opened first, or it is too long ago to tell. */
  FORGOTTEN: 0,
  /** Both sides sent END_STREAM. */
  ENDED: 1,
  /** The client reset it, and may send nothing more. */
  RESET_BY_CLIENT: 2,
  /** We reset it; what the client sent before it knew is ignored. */
  RESET_BY_US: 3,
} as const

export type Closure = (typeof Closure)[keyof typeof Closure]

const REMEMBERED = 128

/** StreamTable holds the streams of a connection, and remembers how the last ones ended. */
export class StreamTable {
  readonly #open = new Map<number, ServerStream>()
  #closedIds: Int32Array | undefined
  #closures: Uint8Array | undefined
  #next = 0
  /** lastId is the highest stream that the client has opened. */
  lastId = 0

  get size(): number {
    return this.#open.size
  }

  get(id: number): ServerStream | undefined {
    return this.#open.get(id)
  }

  add(stream: ServerStream): void {
    this.#open.set(stream.id, stream)
  }

  values(): IterableIterator<ServerStream> {
    return this.#open.values()
  }

  /** isIdle says that the client has not opened the stream; those with even numbers would be ours, and we open none. */
  isIdle(id: number): boolean {
    return id > this.lastId || (id & 1) === 0
  }

  close(id: number, closure: Closure): void {
    this.#open.delete(id)
    this.#closedIds ??= new Int32Array(REMEMBERED)
    this.#closures ??= new Uint8Array(REMEMBERED)
    this.#closedIds[this.#next] = id
    this.#closures[this.#next] = closure
    this.#next = (this.#next + 1) % REMEMBERED
  }

  /** markReset remembers that we have reset a stream which is not open, or which was never admitted. */
  markReset(id: number): void {
    const at = this.#closedIds?.indexOf(id) ?? -1
    if (at < 0) this.close(id, Closure.RESET_BY_US)
    else this.#closures![at] = Closure.RESET_BY_US
  }

  /** closureOf returns how a stream ended that is neither open nor idle. */
  closureOf(id: number): Closure {
    const at = this.#closedIds?.indexOf(id) ?? -1
    return at < 0 ? Closure.FORGOTTEN : (this.#closures![at] as Closure)
  }
}
