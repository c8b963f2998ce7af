/**
 * Keeps the counters of a memory store: 32 bytes each, in chunks of one buffer that is read both as 32-bit words and as
 * 64-bit numbers. No object stands for a counter, so that a million of them give the garbage collector nothing to do. A
 * chunk once made never moves; only the first one grows, so that a small limiter stays small.
 *
 *   words  0, 1   the key's hash
 *   number 1      `at`                       } or, for a log, words 2 to 5:
 *   number 2      `first`, or two counts     } first page, last page, hits, where in those pages
 *   number 3      expiry in whole ms, plus a fraction that holds the standing and whether the counter is a log
 */
export class Entries {
  readonly chunks: Chunk[] = []
  /** How many entries have ever been made; ids run from 0 to size - 1, freed ones included. */
  size = 0
  #freed = NONE
  #freedCount = 0

  /** Returns how many entries hold a counter. */
  get live(): number {
    return this.size - this.#freedCount
  }

  /** Whether no entry is free, so that the next one must be created. */
  get isPacked(): boolean {
    return this.#freed === NONE
  }

  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.words.byteLength, 0)
  }

  /** Returns the id of an entry that was freed, or NONE. */
  takeFreed(): number {
    const id = this.#freed
    if (id === NONE) return NONE
    this.#freed = this.low(id) - 1
    this.#freedCount--
    return id
  }

  /** Makes an entry. */
  append(): number {
    const id = this.size++
    if (id >>> CHUNK_BITS === this.chunks.length) this.chunks.push(new Chunk(id === 0 ? FIRST_CHUNK : CHUNK))
    else if (this.chunks.length === 1 && id === this.chunks[0].entries) this.chunks[0] = this.chunks[0].doubled()
    return id
  }

  free(id: number): void {
    const words = this.chunks[id >>> CHUNK_BITS].words
    words[(id & CHUNK_MASK) << 3] = this.#freed + 1
    this.setExpiry(id, FREED, Standing.Open, false)
    this.#freed = id
    this.#freedCount++
  }

  low(id: number): number {
    return this.chunks[id >>> CHUNK_BITS].words[(id & CHUNK_MASK) << 3] | 0
  }

  high(id: number): number {
    return this.chunks[id >>> CHUNK_BITS].words[((id & CHUNK_MASK) << 3) + 1] | 0
  }

  setKey(id: number, low: number, high: number): void {
    const words = this.chunks[id >>> CHUNK_BITS].words
    words[(id & CHUNK_MASK) << 3] = low
    words[((id & CHUNK_MASK) << 3) + 1] = high
  }

  /** Returns the moment from which the entry is worth nothing, with the standing as a fraction. */
  expiry(id: number): number {
    return this.chunks[id >>> CHUNK_BITS].numbers[((id & CHUNK_MASK) << 2) + 3]
  }

  setExpiry(id: number, expiresAtMs: number, standing: Standing, isLog: boolean): void {
    const numbers = this.chunks[id >>> CHUNK_BITS].numbers
    numbers[((id & CHUNK_MASK) << 2) + 3] = Math.ceil(expiresAtMs) + standing * 0.125 + (isLog ? LOG : 0)
  }
}

export class Chunk {
  readonly words: Uint32Array
  readonly numbers: Float64Array
  readonly entries: number

  constructor(entries: number) {
    const buffer = new ArrayBuffer(entries * ENTRY_BYTES)
    this.words = new Uint32Array(buffer)
    this.numbers = new Float64Array(buffer)
    this.entries = entries
  }

  doubled(): Chunk {
    const larger = new Chunk(this.entries * 2)
    larger.words.set(this.words)
    return larger
  }
}

/**
 * Determines which entries are forgotten first when room is short: the lower ones. It is kept in the eighths of a
 * millisecond of an expiry, as a small integer: otherwise every decision would allocate a number. Between Open and
 * Spent are entries that have used some of their budget, see openStanding.
 */
export const Standing = {
  /** Has used next to nothing. */
  Open: 0,
  /** Has spent its budget: forgotten only when nothing else can be. */
  Spent: 6,
  /** Is being refused: never forgotten, or else a flood of new keys would buy a refused caller a fresh budget. */
  Refused: 7,
} as const
export type Standing = number

/** Returns the standing of an entry with budget left: what is given away by forgetting it, in sixths. */
export function openStanding(remaining: number, capacity: number): Standing {
  return ((6 * (capacity - remaining)) / capacity) | 0
}

/** Reads the fraction of an expiry, as isLogEntry does. */
export function standingOf(expiry: number): Standing {
  return ((expiry - Math.floor(expiry)) * 8) | 0
}

export function isLogEntry(expiry: number): boolean {
  return ((expiry - Math.floor(expiry)) * 16) % 2 === 1
}

export const NONE = -1
/** The expiry of an entry that was freed: no counter is in it. */
export const FREED = Number.NEGATIVE_INFINITY
export const ENTRY_BYTES = 32
export const CHUNK_BITS = 12
export const CHUNK = 1 << CHUNK_BITS
export const CHUNK_MASK = CHUNK - 1
const FIRST_CHUNK = 64
const LOG = 0.0625
