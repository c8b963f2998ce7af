import type { ServerStream } from './server-stream.ts'

/** How a stream came to its end, which decides what a late frame on it means (RFC 9113, 5.1). */
export const Closure = {
  /** It was never open: a later stream was opened first, or it was too long ago to know. */
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
const MIN_SLOTS = 8
/** Clients choose the ids, so which of them share a slot must be secret. */
const SEED = Math.floor(Math.random() * 0x1_0000_0000)
/**
 * 2³² by the golden ratio: it spreads numbers that follow one another (Knuth, The Art of Computer Programming, 6.4).
 */
const SPREAD = 0x9e37_79b1

/**
 * Holds the streams of a connection, and remembers how the last ones ended. It is no Map: V8 gives a Map a new table
 * now and then, to which the old one points, with all that was in it; once one of these is old, all that follow
 * survive, with their streams, until the next full collection. A stream is in the first free slot from that of its id
 * on.
 */
export class StreamTable {
  /** At least half of them are free. Their number is a power of two. */
  #slots: (ServerStream | undefined)[] = []
  #size = 0
  #closedIds: Int32Array | undefined
  #closures: Uint8Array | undefined
  #next = 0
  /** The highest stream that the client has opened. */
  lastId = 0

  get size(): number {
    return this.#size
  }

  get(id: number): ServerStream | undefined {
    return this.#size === 0 ? undefined : this.#slots[this.#find(id)]
  }

  add(stream: ServerStream): void {
    if (2 * (this.#size + 1) > this.#slots.length) this.#grow()
    const at = this.#find(stream.id)
    if (this.#slots[at] === undefined) this.#size++
    this.#slots[at] = stream
  }

  /** Returns the streams that are open, in whatever order. They may be closed meanwhile. */
  values(): readonly ServerStream[] {
    return this.#slots.filter((stream) => stream !== undefined)
  }

  /** Says that the client has not opened the stream; those with even numbers would be ours, and we open none. */
  isIdle(id: number): boolean {
    return id > this.lastId || (id & 1) === 0
  }

  close(id: number, closure: Closure): void {
    this.#remove(id)
    this.#closedIds ??= new Int32Array(REMEMBERED)
    this.#closures ??= new Uint8Array(REMEMBERED)
    this.#closedIds[this.#next] = id
    this.#closures[this.#next] = closure
    this.#next = (this.#next + 1) % REMEMBERED
  }

  /** Remembers that we have reset a stream which is not open, or which was never admitted. */
  markReset(id: number): void {
    const at = this.#closedIds?.indexOf(id) ?? -1
    if (at < 0) this.close(id, Closure.RESET_BY_US)
    else this.#closures![at] = Closure.RESET_BY_US
  }

  /** Returns how a stream ended that is neither open nor idle. */
  closureOf(id: number): Closure {
    const at = this.#closedIds?.indexOf(id) ?? -1
    return at < 0 ? Closure.FORGOTTEN : (this.#closures![at] as Closure)
  }

  #homeOf(id: number): number {
    return (Math.imul(id ^ SEED, SPREAD) >>> 16) & (this.#slots.length - 1)
  }

  /** Returns the slot of a stream, or the one that it would get. */
  #find(id: number): number {
    const slots = this.#slots
    let at = this.#homeOf(id)
    for (let stream = slots[at]; stream !== undefined && stream.id !== id; stream = slots[at]) {
      at = (at + 1) & (slots.length - 1)
    }
    return at
  }

  #grow(): void {
    const streams = this.values()
    this.#slots = new Array(Math.max(MIN_SLOTS, 2 * this.#slots.length)).fill(undefined)
    for (const stream of streams) this.#slots[this.#find(stream.id)] = stream
  }

  /** Empties a slot, and moves those behind it up that would not be found any more. */
  #remove(id: number): void {
    const slots = this.#slots
    if (this.#size === 0) return
    let free = this.#find(id)
    if (slots[free] === undefined) return
    this.#size--
    const mask = slots.length - 1
    let at = (free + 1) & mask
    for (let stream = slots[at]; stream !== undefined; stream = slots[at]) {
      if (((at - this.#homeOf(stream.id)) & mask) >= ((at - free) & mask)) {
        slots[free] = stream
        free = at
      }
      at = (at + 1) & mask
    }
    slots[free] = undefined
  }
}
