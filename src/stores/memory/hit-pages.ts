import type { HitLog } from '../../core/algorithms/hit-log.ts'
import type { Outcome } from '../../core/algorithms/outcome.ts'
import { CHUNK_BITS, CHUNK_MASK, type Entries } from './entries.ts'

const PAGE_WORDS = 8
const RECORDS = 3
const CHUNK_PAGES = 1024

/**
 * Keeps the records of logs, in pages of 64 bytes: the number of the next page, and three records of a time and a
 * value. The value of a hit record is its number of hits; the value of a permit's record is its id. `open` points the
 * cursor at an entry's log; the HitLog it then is serves the algorithms, `apply` makes their changes.
 *
 * Pages are bounded. When they run out, a log that already has one adds new hits to its newest record instead: older
 * hits then leave later than they should, which errs on the strict side and needs no room. Permits cannot share a
 * record, because each is released separately: permits in use always have room.
 */
export class HitPages implements HitLog {
  readonly #entries: Entries
  readonly #mostPages: number
  readonly #chunks: Float64Array[] = []
  #made = 1
  #freed = 0
  #freedCount = 0

  // The log under the cursor.
  #words: Uint32Array = NO_WORDS
  #base = 0
  #holders = false
  #page = 0
  #record = 0
  #left = 0

  constructor(entries: Entries, mostPages: number) {
    this.#entries = entries
    this.#mostPages = mostPages
  }

  get bytes(): number {
    return this.#chunks.length * CHUNK_PAGES * PAGE_WORDS * 8
  }

  get pagesInUse(): number {
    return this.#made - 1 - this.#freedCount
  }

  /** Points the cursor at the log of an entry, or at an empty log for NONE. */
  open(id: number, holders: boolean): void {
    this.#words = id < 0 ? NO_WORDS : this.#entries.chunks[id >>> CHUNK_BITS].words
    this.#base = id < 0 ? 0 : ((id & CHUNK_MASK) << 3) + 2
    this.#holders = holders
  }

  /** Makes the log empty without giving pages back: the first thing to do with a new entry. */
  clear(): void {
    this.#words.fill(0, this.#base, this.#base + 4)
  }

  // An entry's four words: first page; last page; records × 4 + the oldest one's position in the first page; hits.

  get #firstPage(): number {
    return this.#words[this.#base]
  }

  get #lastPage(): number {
    return this.#words[this.#base + 1]
  }

  get #records(): number {
    return this.#words[this.#base + 2] >>> 2
  }

  get #offset(): number {
    return this.#words[this.#base + 2] & 3
  }

  #setSpan(records: number, offset: number): void {
    this.#words[this.#base + 2] = (records << 2) | offset
  }

  get totalHits(): number {
    return this.#words[this.#base + 3]
  }

  #addHits(hits: number): void {
    this.#words[this.#base + 3] += hits
  }

  get newestMs(): number {
    return this.#read(this.#lastPage, this.#newestRecord)
  }

  get #newestRecord(): number {
    return (this.#offset + this.#records - 1) % RECORDS
  }

  rewind(): void {
    this.#page = this.#firstPage
    this.#record = this.#offset - 1
    this.#left = this.#records
  }

  next(): boolean {
    if (this.#left === 0) return false
    this.#left--
    if (++this.#record === RECORDS) {
      this.#record = 0
      this.#page = this.#chunkOf(this.#page)[this.#at(this.#page)]
    }
    return true
  }

  get timeMs(): number {
    return this.#read(this.#page, this.#record)
  }

  get hits(): number {
    return this.#holders ? 1 : this.#value
  }

  get #value(): number {
    return this.#chunkOf(this.#page)[this.#at(this.#page) + 2 + 2 * this.#record]
  }

  /** Makes the changes of an Outcome: drop, move back, pop, push. `permit` is the value of a permit's records. */
  apply(out: Outcome, permit: number): void {
    for (let i = 0; i < out.dropOldest; i++) this.#dropOldest()
    if (this.#records > 0 && this.newestMs > out.latestMs) this.#moveBack(out.latestMs)
    for (let left = out.pop; left > 0; ) left -= this.#popNewest(left)
    if (this.#holders) for (let i = 0; i < out.push; i++) this.#append(out.latestMs, permit)
    else if (out.push > 0) this.#pushHits(out.latestMs, out.push)
  }

  /** Removes every record of an id. It keeps the order of the others. */
  release(permit: number): boolean {
    const kept: [timeMs: number, permit: number][] = []
    const before = this.#records
    this.rewind()
    while (this.next()) if (this.#value !== permit) kept.push([this.timeMs, this.#value])
    if (kept.length === before) return false
    while (this.#records > 0) this.#dropOldest()
    for (const [timeMs, value] of kept) this.#append(timeMs, value)
    return true
  }

  /**
   * Moves the records of some permits to now, and returns how many it found of each; expired ones are not found. Where
   * it finds any, expired records are removed, and records of a clock that was ahead are moved to now.
   */
  renew(isWanted: (permit: number) => boolean, nowMs: number, windowMs: number): ReadonlyMap<number, number> {
    const found = new Map<number, number>()
    const kept: [timeMs: number, permit: number][] = []
    this.rewind()
    while (this.next()) {
      if (this.timeMs + windowMs <= nowMs) continue
      const permit = this.#value
      if (isWanted(permit)) found.set(permit, (found.get(permit) ?? 0) + 1)
      else kept.push([Math.min(this.timeMs, nowMs), permit])
    }
    if (found.size === 0) return found
    this.freeAll()
    for (const [timeMs, permit] of kept) this.#append(timeMs, permit)
    for (const [permit, places] of found) this.take(permit, places, nowMs)
    return found
  }

  /** Records permits whether there is room for them or not. */
  take(permit: number, places: number, nowMs: number): void {
    for (let i = 0; i < places; i++) this.#append(nowMs, permit)
  }

  get isEmpty(): boolean {
    return this.#records === 0
  }

  /** Gives all pages of the log back. */
  freeAll(): void {
    while (this.#records > 0) this.#dropOldest()
  }

  #pushHits(timeMs: number, hits: number): void {
    const mergeable = this.#records > 0 && (this.newestMs === timeMs || !this.#hasRoom())
    if (mergeable) this.#addToNewest(timeMs, hits)
    else this.#append(timeMs, hits)
  }

  #addToNewest(timeMs: number, hits: number): void {
    const at = this.#at(this.#lastPage) + 1 + 2 * this.#newestRecord
    const chunk = this.#chunkOf(this.#lastPage)
    chunk[at] = timeMs
    chunk[at + 1] += hits
    this.#addHits(hits)
  }

  #hasRoom(): boolean {
    return this.#newestRecord < RECORDS - 1 || this.#freed !== 0 || this.#made <= this.#mostPages
  }

  #append(timeMs: number, value: number): void {
    const isFirst = this.#records === 0
    const record = isFirst ? 0 : (this.#newestRecord + 1) % RECORDS
    if (record === 0) {
      const page = this.#takePage()
      if (isFirst) this.#words[this.#base] = page
      else this.#chunkOf(this.#lastPage)[this.#at(this.#lastPage)] = page
      this.#words[this.#base + 1] = page
    }
    const chunk = this.#chunkOf(this.#lastPage)
    const at = this.#at(this.#lastPage) + 1 + 2 * record
    chunk[at] = timeMs
    chunk[at + 1] = value
    this.#setSpan(this.#records + 1, isFirst ? 0 : this.#offset)
    this.#addHits(this.#holders ? 1 : value)
  }

  #dropOldest(): void {
    const page = this.#firstPage
    const [records, offset] = [this.#records - 1, this.#offset + 1]
    this.#addHits(this.#holders ? -1 : -this.#chunkOf(page)[this.#at(page) + 2 * offset])
    const pageStays = offset < RECORDS && records > 0
    this.#setSpan(records, pageStays ? offset : 0)
    if (pageStays) return
    this.#words[this.#base] = this.#chunkOf(page)[this.#at(page)]
    this.#freePage(page)
  }

  /** Takes up to `max` hits back from the newest record, and returns how many it took. */
  #popNewest(max: number): number {
    const record = this.#newestRecord
    const page = this.#lastPage
    const at = this.#at(page) + 2 + 2 * record
    const hits = this.#holders ? 1 : this.#chunkOf(page)[at]
    const taken = Math.min(hits, max)
    this.#addHits(-taken)
    if (taken < hits) this.#chunkOf(page)[at] -= taken
    else {
      this.#setSpan(this.#records - 1, this.#offset)
      if (record === 0 || this.#records === 0) this.#dropLastPage(page)
    }
    return taken
  }

  #dropLastPage(page: number): void {
    if (this.#records > 0) {
      let before = this.#firstPage
      while (this.#chunkOf(before)[this.#at(before)] !== page) before = this.#chunkOf(before)[this.#at(before)]
      this.#words[this.#base + 1] = before
    }
    this.#freePage(page)
  }

  #moveBack(latestMs: number): void {
    this.rewind()
    while (this.next()) {
      if (this.timeMs > latestMs) this.#chunkOf(this.#page)[this.#at(this.#page) + 1 + 2 * this.#record] = latestMs
    }
  }

  #takePage(): number {
    const page = this.#freed
    if (page !== 0) {
      this.#freed = this.#chunkOf(page)[this.#at(page)]
      this.#freedCount--
      return page
    }
    if (this.#made >>> 10 === this.#chunks.length) this.#chunks.push(new Float64Array(CHUNK_PAGES * PAGE_WORDS))
    return this.#made++
  }

  #freePage(page: number): void {
    this.#chunkOf(page)[this.#at(page)] = this.#freed
    this.#freed = page
    this.#freedCount++
  }

  #chunkOf(page: number): Float64Array {
    return this.#chunks[page >>> 10]
  }

  #at(page: number): number {
    return (page & (CHUNK_PAGES - 1)) * PAGE_WORDS
  }

  #read(page: number, record: number): number {
    return this.#chunkOf(page)[this.#at(page) + 1 + 2 * record]
  }
}

const NO_WORDS = new Uint32Array(4)
