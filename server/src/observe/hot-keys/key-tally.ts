/** A key with how often it was counted, at least. */
export type Counted = readonly [key: string, count: number]

/**
 * The keys of a period: the most frequent first. `total` is exact. A listed key may have been counted `missed` times
 * more, and one that is not listed `missed` times. Plain data, which workers and nodes send.
 */
export interface TallyList {
  readonly total: number
  readonly missed: number
  /** How many keys were tracked, listed or not. */
  readonly tracked: number
  readonly keys: readonly Counted[]
}

export const EMPTY_LIST: TallyList = Object.freeze({ total: 0, missed: 0, tracked: 0, keys: Object.freeze([]) })

interface Count {
  count: number
}

/**
 * Counts how often keys occur, in bounded memory: holds at most 2 × size keys, and misses none that makes up more than
 * 1/size of the total. It is the algorithm of Misra and Gries, which is equivalent to Space-Saving: adding is one look
 * into a map. Only when the map is full, the size + 1st count is subtracted from all, and those at 0 leave. Tallies
 * merge, and the bound holds for the sum (Agarwal et al., Mergeable Summaries, 2012).
 */
export class KeyTally {
  readonly #counts = new Map<string, Count>()
  #total = 0
  #missed = 0

  get total(): number {
    return this.#total
  }

  /** How many keys it holds. */
  get held(): number {
    return this.#counts.size
  }

  /** Counts a key `weight` times. On the hot path. */
  add(key: string, size: number, weight = 1): void {
    this.#total += weight
    const known = this.#counts.get(key)
    if (known !== undefined) {
      known.count += weight
      return
    }
    this.#counts.set(key, { count: weight })
    if (this.#counts.size >= 2 * size) this.cut(size)
  }

  /** Adds all that another tally has counted. */
  take(other: KeyTally): void {
    for (const [key, { count }] of other.#counts) this.#put(key, count)
    this.#total += other.#total
    this.#missed += other.#missed
  }

  /** Like take for a list, which another process made of its tallies. */
  takeList({ total, missed, keys }: TallyList): void {
    for (const [key, count] of keys) this.#put(key, count)
    this.#total += total
    this.#missed += missed
  }

  /** Has it hold no more keys than that. */
  cut(size: number): void {
    if (this.#counts.size <= size) return
    const least = this.#countAt(size)
    for (const [key, entry] of this.#counts) {
      if (entry.count <= least) this.#counts.delete(key)
      else entry.count -= least
    }
    this.#missed += least
  }

  /**
   * Returns the most frequent keys, the most frequent first. Of equal keys that do not all fit, the first come are
   * kept: choosing others would require sorting them all.
   */
  list(length: number): TallyList {
    const least = this.#countAt(length)
    const keys: Counted[] = []
    const equal: Counted[] = []
    for (const [key, { count }] of this.#counts) {
      if (count > least) keys.push([key, count])
      else if (count === least && equal.length < length) equal.push([key, count])
    }
    for (let i = 0; i < equal.length && keys.length < length; i++) keys.push(equal[i])
    keys.sort(byCount)
    return { total: this.#total, missed: this.#missed + least, tracked: this.#counts.size, keys }
  }

  /** Returns the count of the key at a position of the list. 0: there is none. To sort numbers is 20 times faster. */
  #countAt(position: number): number {
    if (this.#counts.size <= position) return 0
    const counts = Float64Array.from(this.#counts.values(), ({ count }) => count).sort()
    return counts[counts.length - 1 - position]
  }

  #put(key: string, count: number): void {
    const known = this.#counts.get(key)
    if (known === undefined) this.#counts.set(key, { count })
    else known.count += count
  }
}

function byCount([a, countA]: Counted, [b, countB]: Counted): number {
  return countB - countA || (a < b ? -1 : 1)
}
