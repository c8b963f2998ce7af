import { CHUNK_BITS, CHUNK_MASK, type Entries, NONE } from './entries.ts'

const SLOT_BITS = 10
const SLOTS = 1 << SLOT_BITS
const SLOT_MASK = SLOTS - 1
const MAX_USED = Math.floor(SLOTS * 0.8)

/**
 * Finds the entry of a hash. An extendible hash table: a directory, indexed by the hash's highest bits, of segments of
 * 1,024 slots. A segment that fills up is split in two, and the directory doubles when needed: the most work that one
 * new key can cause, however many there are, is moving 819 slots, where doubling one table would move a million. A slot
 * is one word: the entry's id, and as many of the hash's bits as fit, so that hardly any entry but the right one is
 * ever read.
 */
export class KeyIndex {
  readonly #entries: Entries
  readonly #idMask: number
  readonly #tagMask: number
  #directory: Segment[]
  /** The slots of each segment of the directory: one step less on the way to a key. */
  #slots: Uint32Array[]
  #depth = 1

  constructor(entries: Entries, mostEntries: number) {
    this.#entries = entries
    const idBits = 32 - Math.clz32(mostEntries + 1)
    this.#idMask = 2 ** idBits - 1
    this.#tagMask = ~this.#idMask
    const only = new Segment(0)
    this.#directory = [only, only]
    this.#slots = [only.slots, only.slots]
  }

  get bytes(): number {
    return new Set(this.#directory).size * SLOTS * 4
  }

  /** Returns the entry's id, or NONE. */
  find(low: number, high: number): number {
    const slots = this.#slots[high >>> (32 - this.#depth)]
    const chunks = this.#entries.chunks
    for (let slot = low & SLOT_MASK; ; slot = (slot + 1) & SLOT_MASK) {
      const word = slots[slot]
      if (word === 0) return NONE
      if (((word ^ low) & this.#tagMask) !== 0) continue
      const id = (word & this.#idMask) - 1
      const words = chunks[id >>> CHUNK_BITS].words
      const base = (id & CHUNK_MASK) << 3
      if ((words[base] | 0) === low && (words[base + 1] | 0) === high) return id
    }
  }

  /** Puts an entry in. Its key must be set, and not be in yet. */
  add(id: number): void {
    const [low, high] = [this.#entries.low(id), this.#entries.high(id)]
    let segment = this.#directory[high >>> (32 - this.#depth)]
    while (segment.used >= MAX_USED) {
      this.#split(segment, high)
      segment = this.#directory[high >>> (32 - this.#depth)]
    }
    segment.put(low, ((id + 1) & this.#idMask) | (low & this.#tagMask))
  }

  /** Takes an entry out, and closes the gap, so that searches never pass over removed slots. */
  remove(id: number): void {
    const [low, high] = [this.#entries.low(id), this.#entries.high(id)]
    const segment = this.#directory[high >>> (32 - this.#depth)]
    const { slots } = segment
    let gap = low & SLOT_MASK
    while (((slots[gap] & this.#idMask) >>> 0) - 1 !== id) gap = (gap + 1) & SLOT_MASK
    for (let next = (gap + 1) & SLOT_MASK; slots[next] !== 0; next = (next + 1) & SLOT_MASK) {
      const home = this.#entries.low((slots[next] & this.#idMask) - 1) & SLOT_MASK
      if (((next - home) & SLOT_MASK) < ((next - gap) & SLOT_MASK)) continue
      slots[gap] = slots[next]
      gap = next
    }
    slots[gap] = 0
    segment.used--
  }

  #split(full: Segment, high: number): void {
    if (full.depth === this.#depth) this.#double()
    const zero = new Segment(full.depth + 1)
    const one = new Segment(full.depth + 1)
    const bit = 31 - full.depth
    for (const word of full.slots) {
      if (word === 0) continue
      const id = (word & this.#idMask) - 1
      const half = ((this.#entries.high(id) >>> bit) & 1) === 1 ? one : zero
      half.put(this.#entries.low(id), word)
    }
    const span = 2 ** (this.#depth - full.depth)
    const start = (high >>> (32 - this.#depth)) & ~(span - 1)
    this.#directory.fill(zero, start, start + span / 2)
    this.#directory.fill(one, start + span / 2, start + span)
    this.#slots.fill(zero.slots, start, start + span / 2)
    this.#slots.fill(one.slots, start + span / 2, start + span)
  }

  #double(): void {
    this.#directory = this.#directory.flatMap((segment) => [segment, segment])
    this.#slots = this.#directory.map((segment) => segment.slots)
    this.#depth++
  }
}

class Segment {
  readonly slots = new Uint32Array(SLOTS)
  readonly depth: number
  used = 0

  constructor(depth: number) {
    this.depth = depth
  }

  put(low: number, word: number): void {
    let slot = low & SLOT_MASK
    while (this.slots[slot] !== 0) slot = (slot + 1) & SLOT_MASK
    this.slots[slot] = word
    this.used++
  }
}
