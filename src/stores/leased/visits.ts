import { randomBytes } from 'node:crypto'
import { KeyedHash } from '../../core/hash.ts'

/**
 * Visits counts how often keys come within a time, to know who is worth a slice. It is a table of fixed size, 16 bytes a place.
 * A key has one place, and takes it from whoever is there. So what it says is too little at times, and never too much: a
 * caller whose place was taken asks the store a few times more.
 */
export class Visits {
  readonly #hash: KeyedHash
  readonly #mask: number
  readonly #names: Int32Array
  readonly #counts: Int32Array
  readonly #sinceMs: Float64Array

  /** It has a power of two of places, at least `places`. */
  constructor(places: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(1, places)))
    const key = randomBytes(8)
    this.#hash = new KeyedHash(key.readInt32LE(0), key.readInt32LE(4))
    this.#mask = size - 1
    this.#names = new Int32Array(size)
    this.#counts = new Int32Array(size)
    this.#sinceMs = new Float64Array(size)
  }

  /** add counts a visit, and returns how many there were within so many ms of the first one. */
  add(key: string, nowMs: number, withinMs: number): number {
    const at = this.#placeOf(key)
    const name = this.#hash.high
    const sinceMs = this.#sinceMs[at]
    const isKnown = this.#names[at] === name && nowMs >= sinceMs && nowMs - sinceMs < withinMs
    if (isKnown) return ++this.#counts[at]
    this.#names[at] = name
    this.#sinceMs[at] = nowMs
    this.#counts[at] = 1
    return 1
  }

  /** forget lets a key begin anew. */
  forget(key: string): void {
    const at = this.#placeOf(key)
    if (this.#names[at] === this.#hash.high) this.#counts[at] = 0
  }

  #placeOf(key: string): number {
    this.#hash.of(key, 0)
    return this.#hash.low & this.#mask
  }
}
