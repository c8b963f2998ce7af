import { randomBytes } from 'node:crypto'
import { KeyedHash } from '../../core/hash.ts'

/**
 * A key has this many places to choose from. With one, two callers who meet there would keep each other from ever being
 * counted.
 */
const WAYS = 2

/**
 * Counts how often keys come within a time, to find callers worth a slice. It is a table of fixed size, 16 bytes an
 * entry. A key that finds both of its entries taken replaces the key that came less often. So a count may be too low
 * but never too high: a caller whose entry was replaced asks the store a few more times.
 */
export class Visits {
  readonly #hash: KeyedHash
  readonly #mask: number
  readonly #names: Int32Array
  readonly #counts: Int32Array
  readonly #sinceMs: Float64Array

  /** It has a power of two of places, at least `places`. */
  constructor(places: number) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(WAYS, places)))
    const key = randomBytes(8)
    this.#hash = new KeyedHash(key.readInt32LE(0), key.readInt32LE(4))
    this.#mask = size - WAYS
    this.#names = new Int32Array(size)
    this.#counts = new Int32Array(size)
    this.#sinceMs = new Float64Array(size)
  }

  /** Counts a visit, and returns how many there were within this many ms of the first one. */
  add(key: string, nowMs: number, withinMs: number): number {
    const known = this.#placeOf(key)
    if (known >= 0 && this.#isFresh(known, nowMs, withinMs)) return ++this.#counts[known]
    const at = known >= 0 ? known : this.#placeFor(nowMs, withinMs)
    this.#names[at] = this.#hash.high
    this.#sinceMs[at] = nowMs
    this.#counts[at] = 1
    return 1
  }

  /** Restarts the count of a key. */
  forget(key: string): void {
    const at = this.#placeOf(key)
    if (at >= 0) this.#counts[at] = 0
  }

  /** Returns where a key is, -1 for nowhere. */
  #placeOf(key: string): number {
    this.#hash.of(key, 0)
    const first = this.#hash.low & this.#mask
    const name = this.#hash.high
    if (this.#names[first] === name) return first
    return this.#names[first + 1] === name ? first + 1 : -1
  }

  /**
   * Returns the place that the key that was hashed last may take: one whose time is over, or that of the lower count.
   */
  #placeFor(nowMs: number, withinMs: number): number {
    const first = this.#hash.low & this.#mask
    if (!this.#isFresh(first, nowMs, withinMs)) return first
    if (!this.#isFresh(first + 1, nowMs, withinMs)) return first + 1
    return this.#counts[first] <= this.#counts[first + 1] ? first : first + 1
  }

  #isFresh(at: number, nowMs: number, withinMs: number): boolean {
    const sinceMs = this.#sinceMs[at]
    return nowMs >= sinceMs && nowMs - sinceMs < withinMs
  }
}
